# Two stages: the environment is built with pip, the image that runs holds neither pip's cache nor a compiler.
FROM python:3.11-slim-bookworm AS environment
RUN python -m venv /venv
COPY requirements.txt .
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin staircase \
 && install -d -o staircase -g staircase /data /srv/static /var/cache/numba
COPY --from=environment /venv /venv
WORKDIR /app
COPY manage.py ./
COPY costmodel costmodel
COPY simulator simulator
COPY planner planner
COPY templates templates
COPY docs/api.md docs/api.md
COPY docs/spreadsheets.md docs/spreadsheets.md
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OMP_NUM_THREADS=1 \
    PLANNER_MANAGED_ENV=0 \
    PLANNER_DATA_DIR=/data \
    PLANNER_STATIC_ROOT=/srv/static \
    NUMBA_CACHE_DIR=/var/cache/numba
RUN python -m compileall -q costmodel simulator planner
USER staircase
# Static files get their content hash, and the kernels are compiled, once per image.
RUN PLANNER_SECRET_KEY=only-for-the-build python manage.py collectstatic --no-input --verbosity 0 \
 && python -c "from planner.planning import warm_up; warm_up()"
EXPOSE 8000
CMD ["gunicorn", "planner.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "4", "--preload", "--worker-tmp-dir", "/tmp", "--no-control-socket", "--config", "python:planner.core.gunicorn_conf"]
