# memoryd over HTTP. How to run it, and how the first token is made: docs/containers.md
FROM python:3.13-slim AS build

RUN python -m venv /opt/memoryd
ENV PATH=/opt/memoryd/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install '.[http,login,postgres]'
# Part of the image: a container needs no network to start, and all of them share one copy.
RUN MEMORY_MODEL_DIR=/opt/memoryd/models memoryd models pull

FROM python:3.13-slim

RUN useradd --uid 10001 --user-group --home-dir /data --shell /usr/sbin/nologin memoryd \
    && install --directory --owner=memoryd --group=memoryd --mode=0700 /data
COPY --from=build /opt/memoryd /opt/memoryd
ENV PATH=/opt/memoryd/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 \
    MEMORY_DATA_DIR=/data \
    MEMORY_MODEL_DIR=/opt/memoryd/models
# By this the MCP registry knows that the image belongs to the entry in server.json.
LABEL io.modelcontextprotocol.server.name="io.github.memoryd/memoryd"
USER memoryd
WORKDIR /data
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/health/live', timeout=4)"]
ENTRYPOINT ["memoryd"]
CMD ["serve", "--transport", "http", "--host", "0.0.0.0", "--port", "8765"]
