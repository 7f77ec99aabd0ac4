"""Whose words a message holds. The role follows the speaker, never the hook that saw the message.

Everything here is a pure function of agent objects and works by what they have, so that AG2 need not be imported.
"""

from collections.abc import Mapping
from functools import lru_cache

from memotel.outcomes import Speaker


def speaks_for_a_person(agent: object) -> bool:
    """Whether an agent's words are a person's.

    True for a `UserProxyAgent`, for `human_input_mode="ALWAYS"`, and for `"TERMINATE"` without a model.
    (`"TERMINATE"` is `ConversableAgent`'s default, so with a model it is an assistant speaking.)
    """
    if is_group_manager(agent):
        return False
    mode = getattr(agent, "human_input_mode", None)
    return (
        _is_a(agent, "UserProxyAgent")
        or mode == "ALWAYS"
        or (mode == "TERMINATE" and not has_model(agent))
    )


def has_model(agent: object) -> bool:
    """Whether the agent has a language model to answer with."""
    return bool(getattr(agent, "llm_config", False)) or getattr(agent, "client", None) is not None


def runs_code(agent: object) -> bool:
    """Whether the agent executes code that it is sent."""
    return getattr(agent, "_code_execution_config", False) is not False


def has_memory(agent: object) -> bool:
    """Whether a capability of memotel is attached to the agent."""
    hook_lists = getattr(agent, "hook_lists", None)
    if not isinstance(hook_lists, Mapping):
        return False
    hooks = hook_lists.get("update_agent_state", ())
    return any(getattr(hook, "is_memotel_hook", False) for hook in hooks)


def is_group_manager(agent: object) -> bool:
    """Whether the agent relays a group chat."""
    return _is_a(agent, "GroupChatManager")


def own_speaker(agent: object) -> Speaker:
    """Return whose words the agent's own messages are."""
    return Speaker.HUMAN if speaks_for_a_person(agent) else Speaker.AI


def partner_speaker(partner: object) -> Speaker:
    """Return whose words an attached agent receives from `partner` in a chat of two.

    A partner without a model, code execution and memory is how a program hands over a person's words. None: the
    program called the agent directly.
    """
    if partner is None or speaks_for_a_person(partner):
        return Speaker.HUMAN
    is_mouthpiece = not (has_model(partner) or runs_code(partner) or has_memory(partner))
    return Speaker.HUMAN if is_mouthpiece else Speaker.AI


def member_speaker(manager: object, name: object) -> Speaker:
    """Return whose words a group member's message holds, by its `name`.

    What arrives in the manager's own name is what a program handed to the group without a name: a person's words
    (autogen 0.14.1 takes the name of its temporary user off the history that it returns).
    """
    if name == getattr(manager, "name", None):
        return Speaker.HUMAN
    members = getattr(getattr(manager, "groupchat", None), "agents", ())
    member = next((agent for agent in members if getattr(agent, "name", None) == name), None)
    return own_speaker(member) if member is not None else Speaker.AI


def introduction_of(manager: object) -> str:
    """Return how a group manager's introduction of the members begins, "" where there is none."""
    groupchat = getattr(manager, "groupchat", None)
    return str(getattr(groupchat, "DEFAULT_INTRO_MSG", "") or "")


def _is_a(agent: object, class_name: str) -> bool:
    kind: type = type(agent)
    return class_name in _class_names(kind)


@lru_cache(maxsize=1_000)
def _class_names(kind: type) -> frozenset[str]:
    return frozenset(ancestor.__name__ for ancestor in kind.__mro__)
