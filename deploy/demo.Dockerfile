# The demo in a container; built by deploy/compose.yaml with the repository as its context.
FROM python:3.12-slim
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir ".[all]" && rm -rf /build && useradd --create-home --uid 10001 memotel
COPY deploy/entrypoint.py /opt/memotel/entrypoint.py
USER 10001
WORKDIR /home/memotel
ENTRYPOINT ["python", "/opt/memotel/entrypoint.py"]
