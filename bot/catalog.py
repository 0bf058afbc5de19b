"""The bot's own words, in English and Chinese. Everything that people read and the model did not write."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]


def language(locale: str) -> Language:
    return "zh" if locale.lower().startswith("zh") else "en"


def say(key: str, locale: str, **values: object) -> str:
    """The words for ``key`` in the language of ``locale``. Raises ``KeyError`` for an unknown key."""
    return WORDS[key][language(locale)].format(**values)


def _both(en: str, zh: str) -> dict[Language, str]:
    return {"en": en, "zh": zh}


WORDS: dict[str, dict[Language, str]] = {
    # the card
    "card.working": _both("Working", "处理中"),
    "card.approval": _both("Waiting for a decision", "等待决定"),
    "card.stopped": _both("Stopped", "已停止"),
    "card.failed": _both("Could not finish", "未能完成"),
    "card.step": _both("step {number}", "第 {number} 步"),
    "card.steps": _both("{number} steps", "{number} 步"),
    "card.one_step": _both("1 step", "1 步"),
    "card.seconds": _both("{number} s", "{number} 秒"),
    "card.minutes": _both("{minutes} min {seconds} s", "{minutes} 分 {seconds} 秒"),
    "card.tokens": _both("{tokens} tokens, {cached} % cached", "{tokens} tokens，{cached}% 来自缓存"),
    "card.context": _both("context {tokens}", "上下文 {tokens}"),
    "card.writing": _both("writing the answer", "正在写答复"),
    "card.waiting": _both("{why}; trying again in {seconds} s", "{why}，{seconds} 秒后重试"),
    "card.more": _both("… and {number} earlier steps", "……及之前的 {number} 步"),
    "card.not_run": _both("not run", "未执行"),
    "card.repeated": _both("done before, not repeated", "此前已执行，未重复"),
    "card.uncertain": _both("outcome unknown", "结果未知"),
    "card.failed_call": _both("failed", "失败"),
    "card.needs_yes": _both("needs a yes", "需要批准"),
    # approvals
    "approval.title": _both("Approval needed", "需要批准"),
    "approval.who": _both(
        "{people} may approve with ✅ or refuse with ❌ · expires {when}",
        "{people} 可用 ✅ 批准或用 ❌ 拒绝 · {when} 到期",
    ),
    "approval.votes": _both(
        "{number} of {needed} approvals so far: {people}", "已有 {number}/{needed} 个批准：{people}"
    ),
    "approval.grant": _both(
        "🔁 approves this and also {covers} in this thread for {minutes} min",
        "🔁 批准此操作，并在 {minutes} 分钟内于此话题中同样允许 {covers}",
    ),
    "approval.or": _both(" or ", " 或 "),
    "approval.approve": _both("Approve", "批准"),
    "approval.refuse": _both("Refuse", "拒绝"),
    "approval.approved": _both("Approved by {who}", "{who} 已批准"),
    "approval.refused": _both("Refused by {who}", "{who} 已拒绝"),
    "approval.expired": _both(
        "Expired: nobody decided in time. Nothing was done.", "已过期：无人及时决定。未执行任何操作。"
    ),
    "approval.withdrawn": _both("Taken back by {who}. Nothing was done.", "{who} 已撤回。未执行任何操作。"),
    "approval.superseded": _both(
        "Set aside: the instruction changed before a decision. Nothing was done.",
        "已搁置：决定之前指示有变。未执行任何操作。",
    ),
    "approval.closed": _both("Closed: the run was stopped. Nothing was done.", "已关闭：任务已停止。未执行任何操作。"),
    "approval.reason": _both("Reason: {reason}", "原因：{reason}"),
    "approval.whole": _both(
        "The arguments are long: this is the beginning, the whole is in the file below (sha256 {digest}).",
        "参数较长：此处仅为开头，完整内容见下方文件（sha256 {digest}）。",
    ),
    "approval.bound": _both("bound to exactly these arguments · {digest}", "仅对以上参数有效 · {digest}"),
    "approval.line_approved": _both("✅ {who} approved `{tool}` at {when}.", "✅ {who} 于 {when} 批准了 `{tool}`。"),
    "approval.line_refused": _both("❌ {who} refused `{tool}` at {when}.", "❌ {who} 于 {when} 拒绝了 `{tool}`。"),
    "approval.line_expired": _both(
        "⌛ Nobody decided on `{tool}` in time. It was not run.", "⌛ 无人及时决定 `{tool}`，未执行。"
    ),
    "approval.line_withdrawn": _both(
        "↩️ {who} took the approval of `{tool}` back. It was not run.", "↩️ {who} 撤回了对 `{tool}` 的批准，未执行。"
    ),
    # what a call will change
    "change.post_message": _both("Posts a message in {channel}.", "在 {channel} 发布一条消息。"),
    "change.send_dm": _both("Sends a direct message to {user}.", "给 {user} 发送私信。"),
    "change.add_reaction": _both(
        "Adds the emoji {name} to a message in {channel}.", "给 {channel} 的一条消息添加表情 {name}。"
    ),
    "change.schedule_message": _both(
        "Schedules a message in {channel} for {at}.", "安排在 {at} 于 {channel} 发布消息。"
    ),
    "change.upload_file": _both("Uploads the file {name} to {channel}.", "将文件 {name} 上传到 {channel}。"),
    "change.pin_message": _both("Pins a message in {channel}.", "在 {channel} 置顶一条消息。"),
    "change.create_reminder": _both("Posts a reminder in this thread at {at}.", "在 {at} 于此话题中发布提醒。"),
    "change.set_topic": _both("Changes the topic of {channel}.", "更改 {channel} 的主题。"),
    "change.invite_to_channel": _both("Invites {user} to {channel}.", "邀请 {user} 加入 {channel}。"),
    "change.delete_message": _both(
        "Deletes one of my own messages in {channel}, for good.", "永久删除我在 {channel} 的一条消息。"
    ),
    "change.remember": _both("Adds a note to what I remember.", "在我的记忆中新增一条。"),
    "change.forget": _both("Removes a note from what I remember, for good.", "从我的记忆中永久删除一条。"),
    "change.share_memory": _both(
        "Lets the whole workspace know note {id}, which was told to me in private.",
        "将私下告诉我的第 {id} 条记忆公开给整个工作区。",
    ),
    "change.any": _both("Runs {tool} with the arguments below.", "使用以下参数运行 {tool}。"),
    "change.again": _both(
        "⚠️ The same was already done in this thread. Approving does it a second time.",
        "⚠️ 此话题中已执行过相同操作，批准将再次执行。",
    ),
    # what is remembered
    "memory.title": _both("What I remember", "我记得的内容"),
    "memory.intro": _both(
        "Only what you may read is listed, and only you see this page. Say *remember that …* in a thread, "
        "or put 📌 on a message, to add to it.",
        "这里只列出你有权阅读的内容，且仅你可见。在话题中说“记住……”，或给消息加上 📌，即可新增。",
    ),
    "memory.own": _both("From you", "来自你"),
    "memory.others": _both("From others", "来自他人"),
    "memory.to_one": _both("for this person only", "仅限本人"),
    "memory.in_channel": _both("only in {channel}", "仅限 {channel}"),
    "memory.nothing": _both("Nothing yet.", "暂无内容。"),
    "memory.results": _both("Found for “{query}”", "“{query}”的结果"),
    "memory.newest": _both(
        "These are the newest. The search finds the others.", "以上为最新内容，其余内容可通过搜索找到。"
    ),
    "memory.search": _both("Search", "搜索"),
    "memory.search_hint": _both("What do you want to know? Press Enter", "想了解什么？按回车搜索"),
    "memory.all": _both("Show all", "显示全部"),
    "memory.forget": _both("Forget", "忘记"),
    "memory.sure": _both(
        "I forget it for good, and do not learn it again from the same words.",
        "将永久忘记，且不会再从同样的话中记住。",
    ),
    "memory.edit": _both("Edit", "编辑"),
    "memory.edit_title": _both("Edit note {number}", "编辑第 {number} 条"),
    "memory.edit_label": _both("What is right", "正确的内容"),
    "memory.edit_hint": _both(
        "It takes the place of the old text. Where it was said, and who may read it, stays the same.",
        "将取代原内容；出处和可见范围不变。",
    ),
    "memory.save": _both("Save", "保存"),
    "memory.cancel": _both("Cancel", "取消"),
    "memory.export": _both("Export", "导出"),
    "memory.export_sent": _both("I am sending you the file in our direct messages.", "文件将通过私信发给你。"),
    "memory.how": _both(
        "`/bobbin memory forget NUMBER` removes one of yours for good.",
        "`/bobbin memory forget 编号` 可永久删除你的一条。",
    ),
    "memory.usage": _both(
        "`/bobbin memory` lists what I remember · `/bobbin memory WORDS` searches it · "
        "`/bobbin memory forget NUMBER` · `/bobbin memory export` · "
        "`/bobbin context` tells how long the conversations of this channel are",
        "`/bobbin memory` 列出我记得的内容 · `/bobbin memory 关键词` 搜索 · "
        "`/bobbin memory forget 编号` · `/bobbin memory export` · "
        "`/bobbin context` 显示此频道中各对话的长度",
    ),
    "memory.forgotten": _both("Forgotten for good: {number}.", "已永久忘记：{number}。"),
    "memory.not_yours": _both(
        "{number} is not there, or was not said by you. If it is wrong, say in a thread what is right.",
        "{number} 不存在，或不是你说的。如有错误，请在话题中说明正确内容。",
    ),
    "memory.refused_empty": _both("There is nothing in it to remember.", "其中没有可以记住的内容。"),
    "memory.refused_long": _both("That is too long: say the one thing that matters.", "内容过长，请只说最要紧的一点。"),
    "memory.refused_shared": _both(
        "Nothing is remembered in channels that are shared with others.", "与外部共享的频道中不会记住任何内容。"
    ),
    "memory.refused_secret": _both(
        "It holds what looks like a secret (a key, a token, a password), and secrets are not remembered.",
        "其中似乎含有密钥、令牌或密码，这类内容不会被记住。",
    ),
    "memory.slow": _both("That took too long just now. Please try again.", "刚才耗时过长，请重试。"),
    "notice.unreadable": _both(
        "⚠️ I can't go on in this thread: what I stored of it is damaged. Nothing was changed. "
        "Please start a new thread, and tell the people who run me; the log names the record.",
        "⚠️ 我无法在此话题中继续：已存储的记录损坏，未更改任何内容。请新建话题，并告知我的管理员；日志中有具体记录。",
    ),
    "context.title": _both("*Conversations in this channel*, newest first", "*此频道中的对话*，最新的在前"),
    "context.nothing": _both("No conversation in this channel yet.", "此频道中还没有对话。"),
    "context.size": _both("{tokens} tokens", "{tokens} tokens"),
    "context.cached": _both("{cached} % cached last time", "上次 {cached}% 来自缓存"),
    "context.compacted": _both(
        "compacted {before} → {after} at {when}",
        "{when} 压缩 {before} → {after}",
    ),
    "context.how": _both(
        "At {mark} tokens a summary takes the place of what was said before. Reply `compact` in a thread to do it now.",
        "达到 {mark} tokens 时，摘要将取代之前的内容。在话题中回复“压缩”可立即执行。",
    ),
    "context.off": _both(
        "Nothing is summarized by itself here. Reply `compact` in a thread to do it.",
        "此处不会自动生成摘要。在话题中回复“压缩”即可执行。",
    ),
    # private replies
    "whisper.not_approver": _both(
        "You can't decide this one: {people} may. Your reaction changed nothing.",
        "此请求不由你决定，可由 {people} 决定。你的操作未产生任何影响。",
    ),
    "whisper.not_requester": _both(
        "You asked for this, so another person has to decide: {people}. Your reaction changed nothing.",
        "此请求由你提出，须由他人决定：{people}。你的操作未产生任何影响。",
    ),
    "whisper.not_member": _both(
        "Only full members of this workspace may decide. Your reaction changed nothing.",
        "只有本工作区的正式成员可以决定。你的操作未产生任何影响。",
    ),
    "whisper.unknown_person": _both(
        "Slack could not tell me who you are just now, so I changed nothing. Please try again in a minute.",
        "Slack 暂时无法确认你的身份，因此未做任何更改。请稍后再试。",
    ),
    "whisper.closed": _both(
        "This request is closed. Nothing changed. Ask again in the thread if it is still wanted.",
        "此请求已关闭，未做任何更改。如仍需要，请在话题中重新提出。",
    ),
    "whisper.too_late": _both(
        "Too late to take the approval back: it has run, or is running now. Nothing changed.",
        "已来不及撤回批准：操作已执行或正在执行。未做任何更改。",
    ),
    "whisper.several": _both(
        "Several requests are open. Please decide on each with ✅ or ❌ on its own message.",
        "有多个待决请求。请在各自的消息上用 ✅ 或 ❌ 决定。",
    ),
    "whisper.nothing_to_stop": _both("Nothing is running in this thread.", "此话题中没有正在运行的任务。"),
    # notices
    "notice.stopped": _both("🛑 Stopped by {who}.", "🛑 {who} 已停止任务。"),
    "notice.limit": _both(
        "I reached a limit of this run before I had an answer. Reply to let me go on.",
        "在得出答案之前已达到本次运行的上限。回复即可让我继续。",
    ),
    "notice.loop": _both(
        "I was going round in circles and stopped. Reply with what I should do differently.",
        "我在原地打转，已停止。请回复告诉我该怎样做。",
    ),
    "notice.error": _both(
        "I could not get an answer: {detail}. Nothing was lost; reply here to try again.",
        "未能得到答复：{detail}。内容均已保留，在此回复即可重试。",
    ),
    "notice.configuration": _both(
        "I can't work right now: {detail}. An administrator of this bot has to mend it; then reply here to go on.",
        "我现在无法工作：{detail}。需要此机器人的管理员处理；之后在此回复即可继续。",
    ),
    "notice.refusal": _both(
        "The model declined to answer this. Put it another way, or ask for something else.",
        "模型拒绝回答此问题。请换一种说法，或提出其他请求。",
    ),
    "notice.empty": _both(
        "The model gave no answer twice in a row. Reply here to try again.",
        "模型连续两次没有给出答复。在此回复即可重试。",
    ),
    "notice.budget": _both(
        "{who}, today's budget for your requests is used up. It starts anew {when}; an administrator can raise it.",
        "{who}，你今天的预算已用完，将于 {when} 重新开始；管理员可以提高额度。",
    ),
    "notice.internal": _both(
        "Something in me broke, and I stopped this run. It is in the log of the program; reply here to try again.",
        "程序内部出错，已停止本次任务。详情见程序日志；在此回复即可重试。",
    ),
    "notice.uncertain": _both(
        "⚠️ `{tool}` was interrupted: it may or may not have happened, and I will not repeat it by myself. "
        "Please look, then reply *inspect*, *repeat* or *drop*.",
        "⚠️ `{tool}` 被中断：可能已执行，也可能没有，我不会自行重复。请先查看，然后回复“检查”、“重复”或“放弃”。",
    ),
    "notice.compacted": _both(
        "🗜 Compacted {before} → {after} tokens: kept your words, decisions, open work and identifiers; "
        "set aside {calls} results and what was said between, still searchable.",
        "🗜 已压缩 {before} → {after} tokens：保留了你们的原话、决定、进行中的工作和标识符；"
        "{calls} 个结果及其间内容已搁置，仍可搜索。",
    ),
    "notice.not_compacted": _both(
        "🗜 Nothing to gain: the conversation has {before} tokens, and a summary would have {after}.",
        "🗜 无需压缩：对话有 {before} tokens，摘要将有 {after}。",
    ),
    "notice.compacted_plain": _both(
        " The model could not write the summary, so it was made from the log.", " 模型未能写出摘要，已根据日志生成。"
    ),
    "whisper.nothing_to_compact": _both(
        "Nothing has changed since the conversation was compacted.", "自上次压缩以来没有变化。"
    ),
    "notice.done": _both("Done: {calls}.", "已完成：{calls}。"),
    "notice.left": _both("Not done: {calls}.", "未完成：{calls}。"),
    "notice.so_far": _both("So far: {text}", "目前为止：{text}"),
    "notice.cut_off": _both(
        "_(The answer was cut off at the output limit. Reply to let me go on.)_",
        "_（答复因长度限制被截断。回复即可让我继续。）_",
    ),
    "notice.no_answer": _both("(no answer)", "（没有答复）"),
}
