#!/usr/bin/env bash
# Pins every dependency with hashes, for Python 3.11 to 3.13. Needs uv; addresses of indexes are never written.
set -euo pipefail
cd "$(dirname "$0")/.."
flags=(--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet)
uv pip compile pyproject.toml "${flags[@]}" -o requirements.txt
uv pip compile pyproject.toml --group dev "${flags[@]}" -c requirements.txt -o requirements-dev.txt
echo "pyarrow>=26,<27" | uv pip compile - "${flags[@]}" -o requirements-parquet.txt  # the extra `parquet` of pyproject.toml
echo "aiconfigurator-core>=0.12,<0.13 ; sys_platform == 'linux' and platform_machine == 'x86_64'" |
  uv pip compile - "${flags[@]}" -c requirements.txt -c requirements-parquet.txt -o requirements-silicon.txt  # the extra `silicon`
