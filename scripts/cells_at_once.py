"""200 cells of a sheet at once, and again: `python3 scripts/cells_at_once.py HOST:PORT < file-with-a-link-token`.

Each cell asks for another rate, so the first round computes every one and the second finds them kept. Prints the
answers by status, and the seconds until half, 95 % and all of the cells were answered.
"""

import asyncio
import sys
import time
from collections import Counter
from urllib.parse import urlencode

CELLS = 200
QUESTION = {
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "gpu": "H100-SXM5-80GB",
    "prompt_tokens": 600,
    "output_tokens": 200,
    "ttft_p95_ms": 1000,
    "tpot_p95_ms": 50,
    "fields": "monthly_cost_usd",
    "header": 0,
}


async def ask(host: str, port: int, token: str, rps: float) -> tuple[float, str]:
    """Seconds until the answer had come, and its status."""
    query = urlencode({**QUESTION, "rps": f"{rps:.2f}", "token": token})
    start_s = time.perf_counter()
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(
        f"GET /api/v1/sheets/estimate?{query} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
    )
    answer = await reader.read()
    writer.close()
    return time.perf_counter() - start_s, answer.split(b" ", 2)[1].decode() if answer else "closed"


async def refresh(host: str, port: int, token: str, first_rps: float) -> None:
    start_s = time.perf_counter()
    answers = await asyncio.gather(*(ask(host, port, token, first_rps + 0.05 * cell) for cell in range(CELLS)))
    seconds = sorted(each for each, _ in answers)
    statuses = ", ".join(f"{count} x {status}" for status, count in sorted(Counter(s for _, s in answers).items()))
    half, most = seconds[CELLS // 2 - 1], seconds[CELLS * 95 // 100 - 1]
    print(
        f"{statuses}: half after {half:.2f} s, 95 % after {most:.2f} s, all after {time.perf_counter() - start_s:.2f} s"
    )


def main() -> None:
    host, _, port = sys.argv[1].partition(":")
    token, first_rps = sys.stdin.read().split()[0], 5 + time.time() % 3600 / 100
    for _ in ("computed", "kept"):
        asyncio.run(refresh(host, int(port), token, first_rps))


if __name__ == "__main__":
    main()
