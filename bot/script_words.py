"""What the scripted model says, in English and Chinese."""

from __future__ import annotations


def say(key: str, chinese: bool, /, **values: object) -> str:
    """The words for ``key``. Raises ``KeyError`` for an unknown key."""
    return _WORDS[key][chinese].format(**values)


_WORDS: dict[str, tuple[str, str]] = {
    "signature": (
        "_Scripted demo model: a fixed plan, no understanding. Set `ANTHROPIC_API_KEY` for real answers._",
        "_演示用脚本模型：只按固定流程行事，并不理解内容。设置 `ANTHROPIC_API_KEY` 可得到真正的回答。_",
    ),
    # a report
    "reads": (
        "I will read {channel} and look at the clock, side by side.",
        "我先同时读取 {channel} 的消息并查看时间。",
    ),
    "calculates": (
        "{count} messages in {channel}. Something there can be worked out, so I calculate.",
        "{channel} 有 {count} 条消息。其中有可以计算的内容，我来算一下。",
    ),
    "report": (
        "**{channel} holds {count} messages, from {first} to {last}; the last one is by {who}.**",
        "**{channel} 共有 {count} 条消息，时间从 {first} 到 {last}，最后一条来自 {who}。**",
    ),
    "table": ("| Time | Who | What |\n|:--|:--|:--|", "| 时间 | 谁 | 内容 |\n|:--|:--|:--|"),
    "shares": (
        "The largest share named there is this many times the smallest: `{result}`.",
        "其中最大百分比是最小百分比的倍数：`{result}`。",
    ),
    "minutes": (
        "Minutes from the first message to the last: `{result}`.",
        "从第一条到最后一条消息的分钟数：`{result}`。",
    ),
    "unworked": ("I could not calculate: {result}", "未能完成计算：{result}"),
    "clock": ("Where you are it is now {now}.", "你所在地的当前时间：{now}。"),
    "quiet": ("**Nothing has been said in {channel} yet.**", "**{channel} 还没有消息。**"),
    "unread": ("**I could not read {channel}.** {why}", "**无法读取 {channel}。** {why}"),
    # a post
    "drafts": (
        "This changes something that others see, so I ask for a yes before I post in {channel}.",
        "这会改变别人看到的内容，所以在 {channel} 发布之前我会先请求批准。",
    ),
    "drafts_again": (
        "The instruction changed, so I ask again with the new words for {channel}.",
        "指示有变，我用新的内容重新请求在 {channel} 发布。",
    ),
    "what_text": ("What shall I post in {channel}?", "要在 {channel} 发布什么内容？"),
    "posted": ("**Posted in {channel}.**", "**已在 {channel} 发布。**"),
    "refused": (
        "**Nothing was posted in {channel}: the request was refused.**",
        "**未在 {channel} 发布：请求被拒绝。**",
    ),
    "reason": (" Reason: {reason}", "原因：{reason}"),
    "expired": (
        "**Nothing was posted in {channel}: nobody decided in time.** Ask again if it is still wanted.",
        "**未在 {channel} 发布：无人及时决定。** 如仍需要，请重新提出。",
    ),
    "withdrawn": (
        "**Nothing was posted in {channel}: the approval was taken back.**",
        "**未在 {channel} 发布：批准已被撤回。**",
    ),
    "uncertain": (
        "**I do not know whether the post reached {channel}.** Look there before you ask again.",
        "**不确定消息是否已发到 {channel}。** 请先查看，再决定是否重新提出。",
    ),
    "not_posted": ("**Nothing was posted in {channel}.** {why}", "**未在 {channel} 发布。** {why}"),
    # smaller parts
    "works_out": ("I will work that out exactly.", "我来精确计算。"),
    "nothing_before": ("Nothing was said in this thread before.", "此话题中之前没有任何内容。"),
    "before": (
        "Before this, people wrote to me in this thread:\n\n{listed}",
        "在此之前，此话题中写给我的消息：\n\n{listed}",
    ),
    "remembers": ("I keep that in mind.", "我把它记下来。"),
    "remembered": (
        "**Remembered.** Ask me in any thread where it may be told; “that's wrong, it is …” corrects it.",
        "**已记住。** 在允许告知的任何话题中都可以问我；说“不对，是……”即可更正。",
    ),
    "forgets": ("I look for the note that is meant.", "我先找到所指的那一条。"),
    "forgeted": ("**Forgotten, for good.**", "**已永久忘记。**"),
    "corrects": ("I put that right.", "我来更正。"),
    "corrected": ("**Corrected.** The note reads now: {text}", "**已更正。** 现在的内容：{text}"),
    "looks_up": ("I look into what people told me.", "我查一下大家告诉过我的内容。"),
    "unknown": (
        "**I know nothing about that that I may tell here.** Say “remember that …” to teach me.",
        "**关于这一点，我没有可以在此告知的内容。** 说“记住……”即可教我。",
    ),
    "notes": ("People here said:\n\n{listed}", "这里的人说过：\n\n{listed}"),
    "welcome": ("You are welcome.", "不客气。"),
    "closing": (
        "I reached a limit of this run and stop here. Reply to let me go on.",
        "已达到本次运行的上限，就此停止。回复即可让我继续。",
    ),
}
