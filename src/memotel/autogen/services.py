"""The service half: one class a service, each little more than its signature."""

from collections.abc import Collection, Mapping
from typing import Unpack

from memotel.autogen.arguments import CaptureName, Key, Settings
from memotel.autogen.component import MemorySyncConfig, RekallConfig
from memotel.autogen.memory import AgentMemory
from memotel.autogen.messages import Placement
from memotel.errors import ConfigurationError
from memotel.memory.scopes import checked_id
from memotel.outcomes import Provider, Speaker


class RekallMemory(AgentMemory):
    """Rekall as the long-term memory of an AutoGen agent.

    Args:
        api_url: address of the service; REKALL_API_URL, else https://api.rekall.app.
        api_key: `rk_...` key, or a callable that returns one; REKALL_API_KEY.
        access_token: `rat_...` token in place of a key, or a callable that is asked again when it has expired.
        headers: headers in place of a key (the development server takes `x-user-id`), or beside one.
        user_id: whose memory. Rekall itself knows a user by the key alone; where one key serves several people, what was
            written under another user_id is neither shown nor found. Without one, it is all that the key sees.
        session_id: the conversation that turns belong to; without one, all of a process share a fresh one.
        top_k: most items of a recall or query; `limit` is the same.
        limit: see `top_k`.
        recall_timeout: seconds that `update_context` may take, whatever the service does.
        placement: "system" shows the block as a system message at the head, "user" in the last user's message.
        capture: whose words are written without being added: "none", "user" or "both".
        user_names: sources whose messages are a person's words; ("user", "user_proxy").
        emit_event: whether recalled items appear in results and streams, as `MemoryQueryEvent`. A team's termination
            condition reads them too: a memory that holds its word ends the chat. Off unless asked for.
        write_timeout: seconds that `add` waits for the service; 5.
        name: how the block calls this memory.
        settings: every other setting, by its name.
    """

    provider = Provider.REKALL
    url_argument = "api_url"
    added_as = Speaker.OTHER
    component_config_schema = RekallConfig
    component_provider_override = "rekall_autogen.RekallMemory"

    def __init__(
        self,
        api_url: str | None = None,
        api_key: Key | None = None,
        *,
        access_token: Key | None = None,
        headers: Mapping[str, str] | None = None,
        user_id: str = "",
        session_id: str = "",
        top_k: int | None = None,
        limit: int | None = None,
        recall_timeout: float | None = None,
        placement: Placement = "system",
        capture: CaptureName = "none",
        user_names: Collection[str] | None = None,
        emit_event: bool = False,
        write_timeout: float | None = None,
        name: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        if api_key is not None and access_token is not None:
            raise ConfigurationError("api_key and access_token are both given; give one of them")
        super().__init__(
            url=api_url,
            api_key=access_token if api_key is None else api_key,
            headers=headers,
            user_id=user_id,
            session_id=session_id,
            top_k=top_k,
            limit=limit,
            recall_timeout=recall_timeout,
            placement=placement,
            capture=capture,
            user_names=user_names,
            emit_event=emit_event,
            write_timeout=write_timeout,
            name=name,
            **settings,
        )


class MemorySyncMemory(AgentMemory):
    """MemorySync as the long-term memory of an AutoGen agent.

    Args:
        user_id: whose memory.
        api_key: key, or a callable that returns one; MEMORYSYNC_API_KEY.
        base_url: address of the service; MEMORYSYNC_BASE_URL, else https://api.memorysync.io.
        project_id: `proj_...`, where the key serves several projects.
        headers: further headers of every request.
        session_id: the conversation that turns belong to; without one, all of a process share a fresh one.
        top_k: most items of a recall or query; `limit` is the same.
        limit: see `top_k`.
        recall_timeout: seconds that `update_context` may take, whatever the service does.
        placement: "system" shows the block as a system message at the head, "user" in the last user's message.
        capture: whose words are written without being added: "none", "user" or "both".
        user_names: sources whose messages are a person's words; ("user", "user_proxy").
        emit_event: whether recalled items appear in results and streams, as `MemoryQueryEvent`. A team's termination
            condition reads them too: a memory that holds its word ends the chat. Off unless asked for.
        write_timeout: seconds that `add` waits for the service; 5.
        name: how the block calls this memory.
        settings: every other setting, by its name.
    """

    provider = Provider.MEMORYSYNC
    url_argument = "base_url"
    added_as = Speaker.HUMAN
    component_config_schema = MemorySyncConfig
    component_provider_override = "memotel.autogen.MemorySyncMemory"

    def __init__(
        self,
        user_id: str,
        api_key: Key | None = None,
        *,
        base_url: str | None = None,
        project_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        session_id: str = "",
        top_k: int | None = None,
        limit: int | None = None,
        recall_timeout: float | None = None,
        placement: Placement = "system",
        capture: CaptureName = "none",
        user_names: Collection[str] | None = None,
        emit_event: bool = False,
        write_timeout: float | None = None,
        name: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        checked_id("user_id", user_id)
        super().__init__(
            url=base_url,
            api_key=api_key,
            project_id=project_id,
            headers=headers,
            user_id=user_id,
            session_id=session_id,
            top_k=top_k,
            limit=limit,
            recall_timeout=recall_timeout,
            placement=placement,
            capture=capture,
            user_names=user_names,
            emit_event=emit_event,
            write_timeout=write_timeout,
            name=name,
            **settings,
        )
