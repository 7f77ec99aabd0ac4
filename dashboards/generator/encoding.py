"""From the SDK's model to the JSON that is committed, with the defects of grafana-foundation-sdk 0.0.21 mended."""

import json

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as model

# Put by the SDK on every link and annotation; it hides them in the controls menu. (A legend's placement stays.)
_UNWANTED = ("placement", "inControlsMenu")
_LEAST_GRAFANA = "10.4.0"


def encoded(board: model.Dashboard) -> str:
    """Return `board` as JSON text with sorted keys; raises ValueError on a key that Grafana's schema lacks."""
    document = _object(json.loads(JSONEncoder().encode(board)))
    _check_keys(document)
    document["__requires"] = _requirements(board)
    return json.dumps(_without(document), indent=2, sort_keys=True) + "\n"


def _without(value: object) -> object:
    if isinstance(value, dict):
        return {k: _without(v) for k, v in value.items() if (k, v) != _UNWANTED}
    return [_without(item) for item in value] if isinstance(value, list) else value


def _check_keys(document: dict[str, object]) -> None:
    register_default_plugins()
    again = json.loads(JSONEncoder().encode(model.Dashboard.from_json(document)))
    if again != document:
        # The SDK's reader drops what it does not know, so a difference is a misspelt or unknown key.
        raise ValueError("the dashboard has a key that Grafana's schema does not know")


def _requirements(board: model.Dashboard) -> list[dict[str, str]]:
    kinds = sorted({panel.type_val for panel in board.panels or [] if panel.type_val != "row"})
    panels = [{"type": "panel", "id": kind, "name": kind, "version": ""} for kind in kinds]
    return [
        {"type": "grafana", "id": "grafana", "name": "Grafana", "version": _LEAST_GRAFANA},
        {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
        *panels,
    ]


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"a dashboard is an object, not {type(value).__name__}")
    return value
