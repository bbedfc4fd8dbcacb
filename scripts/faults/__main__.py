"""`python -m scripts.faults`: runs while workers, broker, database, web server, disk and clock fail.

On each stack: web server, two workers of one process and the reaper, all started again whenever they end; leases of
4 s. Needs redis-server, rabbitmq-server and PostgreSQL installed (servers of its own are started), for the clock
a C compiler, for the full disk the right to mount. Exit 0: everything held; 1: something did not, and is printed.
"""

import argparse
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from scripts.faults.campaign import Outcome, campaign
from scripts.faults.faults import FAULTS
from scripts.faults.world import Stack, remove


def table(outcomes: Sequence[Outcome]) -> str:
    """A Markdown table: a column for each stack."""
    rows = [("seed", [str(each.seed) for each in outcomes])]
    rows += [("runs asked for", [f"{each.runs:,}" for each in outcomes])]
    for state in ("done", "failed", "cancelled"):
        rows.append((f"ended {state}", [f"{each.states[state]:,}" for each in outcomes]))
    for attempts in (1, 2, 3):
        rows.append((f"taken {attempts} ×", [f"{each.attempts[attempts]:,}" for each in outcomes]))
    rows.append(("messages sent again", [f"{each.resends:,}" for each in outcomes]))
    rows.append(("processes started again by the supervisor", [str(each.restarts) for each in outcomes]))
    for name in FAULTS:
        rows.append((name, [f"{each.faults[name]} ×" for each in outcomes]))
    refused = [", ".join(f"{n} × {what}" for what, n in each.refusals.most_common()) or "none" for each in outcomes]
    rows.append(("answers that made a client ask again", refused))
    rows.append(("minutes", [f"{each.seconds / 60:.1f}" for each in outcomes]))
    rows.append(("did not hold", [str(len(each.wrong)) for each in outcomes]))
    head = ["", *(each.stack for each in outcomes)]
    lines = [head, ["---", *("--:" for _ in outcomes)], *([name, *cells] for name, cells in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.faults", description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="on each stack (default 1000)")
    parser.add_argument("--on", nargs="+", choices=get_args(Stack), default=list(get_args(Stack)), help="which stacks")
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=[], metavar="FAULT", help=f"of {list(FAULTS)}")
    parser.add_argument("--seed", type=int, help="draws the order of the faults (default: drawn, and printed)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 16)
    outcomes = []
    for stack in given.on:
        folder = Path(tempfile.mkdtemp(prefix=f"staircase-faults-{stack}-"))
        try:
            outcomes.append(campaign(stack, runs=given.runs, seed=seed, folder=folder, only=given.only))
        except Exception:
            traceback.print_exc()
            outcomes.append(Outcome(stack, seed, given.runs, wrong=["the campaign itself broke off"]))
        finally:
            remove(folder)
    print(table(outcomes))
    for outcome in outcomes:
        for wrong in outcome.wrong:
            print(f"{outcome.stack}: {wrong}")
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
