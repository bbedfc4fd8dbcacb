"""Client of the Staircase API.

client = Client("http://127.0.0.1:8000", token="stc_…")
run = client.plan(scenario)
report = run.wait()
print(report.verdict.sentence)
"""

from staircase_client.client import Client
from staircase_client.errors import ApiError, Fault, RunFailed, StaircaseError, WaitTimeout
from staircase_client.results import Estimate, Report, Verdict
from staircase_client.run import Run
from staircase_client.webhooks import is_genuine

__all__ = [
    "ApiError",
    "Client",
    "Estimate",
    "Fault",
    "Report",
    "Run",
    "RunFailed",
    "StaircaseError",
    "Verdict",
    "WaitTimeout",
    "is_genuine",
]
