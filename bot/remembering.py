"""The memory put together from the settings."""

from __future__ import annotations

import time

from bot.claude import Claude
from bot.clients import model_client
from bot.config import SCRIPTED, Settings
from bot.keeper import Keeper
from bot.learner import Learner
from bot.rooms import Rooms
from bot.secrets import Mask
from bot.teacher import ModelTeacher, RuleTeacher, Teacher
from memory.db import Database
from memory.facts import Facts
from memory.learned import Learned
from memory.remember import Memory
from memory.spend import Spend
from memory.vector import Embedder
from memory.vectors import Vectors


def make_memory(settings: Settings, database: Database) -> Memory:
    facts = Facts(database)
    where = settings.chroma_url or str(settings.data_dir / "index")
    native = settings.embedder == "local"
    vectors = Vectors(facts, lambda first: make_embedder(settings, first=first), where, native=native)
    return Memory(facts, vectors, Mask(settings.secrets).text)


def make_embedder(settings: Settings, *, first: bool) -> Embedder:
    """Blocking. ``first`` is false where the larger local model has crashed."""
    from memory.embed import Sentences, local  # noqa: PLC0415 - numpy, only where there is something to remember
    from memory.embed_remote import VOYAGE, ChromaDefault, Remote  # noqa: PLC0415 - as above

    key, model = settings.embedder_key.get_secret_value(), settings.embedder_model
    match settings.embedder:
        case "local":
            return local(first=first)
        case "light":
            return Sentences()
        case "openai":
            url = settings.embedder_url or "https://api.openai.com/v1"
            return Remote(url, key, model or "text-embedding-3-small")
        case "voyage":
            return Remote(settings.embedder_url or VOYAGE, key, model or "voyage-3.5", kinds=True)
        case "chroma":
            return ChromaDefault()


def make_learner(settings: Settings, keeper: Keeper, rooms: Rooms, spend: Spend) -> Learner | None:
    """None where learning is switched off: then only what people ask for is remembered."""
    if not settings.learn:
        return None
    learned = Learned(keeper.memory.facts.database)
    return Learner(keeper.memory, rooms, learned, make_teacher(settings), spend, quiet(settings), time.time)


def quiet(settings: Settings) -> float:
    """The rules of the scripted model cost nothing, and whoever tries it should see something happen."""
    return min(settings.learn_quiet, 1.0) if settings.model == SCRIPTED else settings.learn_quiet


def make_teacher(settings: Settings) -> Teacher:
    if settings.model == SCRIPTED:
        return RuleTeacher()
    model = Claude(model_client(settings), settings.memory_model, thinking=False)
    return ModelTeacher(model, settings.memory_model)
