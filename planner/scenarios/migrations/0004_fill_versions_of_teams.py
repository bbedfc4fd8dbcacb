"""What older rows say about themselves: when they changed, their date of prices, and what a search finds them by."""

import json
from datetime import date

from django.db import migrations


def fill(apps, schema_editor):
    scenarios = apps.get_model("scenarios", "Scenario")
    versions = apps.get_model("scenarios", "ScenarioVersion")
    for version in versions.objects.order_by("pk").iterator(chunk_size=100):
        document = json.loads(version.body)
        versions.objects.filter(pk=version.pk).update(priced_at=date.fromisoformat(document["priced_at"]))
    for scenario in scenarios.objects.order_by("pk").iterator(chunk_size=100):
        newest = versions.objects.filter(scenario=scenario).order_by("-number").first()
        if newest is None:
            continue
        document = json.loads(newest.body)
        gpus = document.get("hardware", {}).get("gpus") or ()
        words = [scenario.name, str(document.get("model", {}).get("id") or "")]
        words += [gpus] if isinstance(gpus, str) else [gpu for gpu in gpus if isinstance(gpu, str)]
        words += [f"{api['provider']} {api['model']}" for api in document.get("api", {}).get("alternatives") or ()]
        text = "\n".join(words).casefold()
        scenarios.objects.filter(pk=scenario.pk).update(changed_at=newest.created_at, words=text)


class Migration(migrations.Migration):
    dependencies = [("scenarios", "0003_versions_of_teams")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
