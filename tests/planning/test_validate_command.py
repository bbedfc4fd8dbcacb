"""`manage.py validate`: arguments and printing."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command

ROW = "id,model,gpu,n_gpus,tp,engine,weight_dtype,isl_mean,osl_mean,load_type,load_value,tpot_mean_ms,trust\n"
ROW += "s-1,Llama-3.1-8B,H100-SXM-80GB,1,1,vLLM,bf16,256,32,concurrency,2,7,gold\n"


def test_without_files_it_says_what_it_takes() -> None:
    problem = io.StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command("validate", stderr=problem)
    assert stopped.value.code == 2
    assert "--throughput F" in problem.getvalue()


def test_json_has_one_object_per_metric(tmp_path: Path) -> None:
    serving = tmp_path / "serving.csv"
    serving.write_text(ROW)
    printed = io.StringIO()
    call_command("validate", "--serving", str(serving), "--json", stdout=printed)
    report = json.loads(printed.getvalue())
    assert report["tpot"]["predicted"] == 1
    assert report["throughput"]["rows"] == 0
