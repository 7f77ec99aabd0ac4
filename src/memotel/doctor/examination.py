"""The whole examination, in the order in which things depend on each other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memotel.client import MemoryClient
from memotel.doctor.cases import Case, Options, case_of, providers_of
from memotel.doctor.choices import check_choices, check_spelling, check_switches
from memotel.doctor.findings import Finding, Level, Topic
from memotel.doctor.installation import check_installation
from memotel.doctor.listening import check_wiring
from memotel.doctor.masking import scrubbed, secrets_in
from memotel.doctor.probes import Probe
from memotel.doctor.route import check_route
from memotel.doctor.versions import check_versions
from memotel.errors import ConfigurationError
from memotel.outcomes import Provider
from memotel.settings import switches
from memotel.telemetry.wiring import wiring
from memotel.values import Json

CONTAINER_MARKER = Path("/.dockerenv")
POD_VARIABLE = "KUBERNETES_SERVICE_HOST"
NO_SERVICE = Finding(
    Topic.SETTINGS,
    "",
    Level.PROBLEM,
    "no service is configured",
    "set MEMORYSYNC_API_KEY or REKALL_API_KEY, or name one: --provider rekall --api-key-file FILE",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where the doctor looks.

    Attributes:
        environ: the environment variables.
        container_marker: a file that is there in a container.
    """

    environ: Mapping[str, str]
    container_marker: Path = CONTAINER_MARKER

    @property
    def is_container(self) -> bool:
        """Whether this seems to be a container or a pod."""
        return bool(self.environ.get(POD_VARIABLE)) or self.container_marker.exists()


def examine(options: Options, around: Surroundings) -> Iterator[Finding]:
    """Yield each finding as it is made; none holds a secret."""
    secrets = secrets_in(around.environ, options.key_file)
    for finding in _findings(options, around):
        yield _masked(finding, secrets)


def _findings(options: Options, around: Surroundings) -> Iterator[Finding]:
    yield from check_installation()
    yield from check_versions()
    yield from check_spelling(around.environ)
    try:
        yield from check_switches(switches(around.environ))
    except ConfigurationError as error:
        yield _refused("MEMOTEL_DISABLED", error)
    providers = providers_of(options, around.environ)
    for provider in providers:
        yield from _service(provider, options, around)
    if not providers:
        yield NO_SERVICE
    yield from check_wiring(wiring(around.environ), is_container=around.is_container)


def _service(provider: Provider, options: Options, around: Surroundings) -> Iterator[Finding]:
    try:
        case = case_of(provider, options, around.environ)
    except ConfigurationError as error:
        yield _refused(provider, error)
        return
    yield from check_choices(case, options, around.environ)
    yield check_route(case, around.environ)
    if case.settings.switches.is_all_off:
        return
    yield from _probed(case, options)


def _probed(case: Case, options: Options) -> Iterator[Finding]:
    client = MemoryClient(case.settings)
    try:
        yield from Probe(case, client, options.write_user).findings()
    finally:
        client.close()


def _refused(subject: str, error: ConfigurationError) -> Finding:
    return Finding(
        Topic.SETTINGS,
        subject,
        Level.PROBLEM,
        str(error),
        "correct that setting",
        {"error": "configuration"},
    )


def _masked(finding: Finding, secrets: tuple[str, ...]) -> Finding:
    def clean(value: Json) -> Json:
        if isinstance(value, str):
            return scrubbed(value, secrets)
        if isinstance(value, list):
            return [clean(each) for each in value]
        if isinstance(value, dict):
            return {scrubbed(name, secrets): clean(each) for name, each in value.items()}
        return value

    return replace(
        finding,
        subject=scrubbed(finding.subject, secrets),
        message=scrubbed(finding.message, secrets),
        advice=scrubbed(finding.advice, secrets),
        data={name: clean(value) for name, value in finding.data.items()},
    )
