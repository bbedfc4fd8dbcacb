"""The form as the page shows it: sections, fields with their texts, and what is wrong with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.reports import names
from planner.web.catalog_lists import Choices, GpuChoice
from planner.web.forms.chain import Chain, chain_of
from planner.web.forms.errors import Problem
from planner.web.forms.labels import CHOICE_LABELS
from planner.web.forms.layout import Group, Item, Section
from planner.web.forms.schema import FieldSchema, field_schema
from planner.web.forms.sections import SECTIONS
from planner.web.forms.values import BY_GPU, DEFAULT_WAYS, Values, asked_gpus, first, text_of

SAID_UNITS = ("ms", "req/s", "hours", "tokens")
Options = tuple[tuple[str, str], ...]
"""Values of a select field with their labels."""
Faults = Mapping[str, tuple[Problem, ...]]
BOOLEAN_CHOICES = (("", "engine default"), ("true", "on"), ("false", "off"))


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field, ready to print."""

    name: str
    id: str
    label: str
    widget: str
    value: str
    unit: str
    help: str
    default: str
    range_text: str
    options: Options
    selected: tuple[str, ...]
    kinds: str
    optional: bool
    wide: bool
    numeric: bool
    problems: tuple[Problem, ...]
    datalist: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """Fields that stand together."""

    title: str
    ways: str
    by_kind: bool
    folded: bool
    chain: bool
    open: bool
    fields: tuple[FieldView, ...]


@dataclass(frozen=True, slots=True)
class SectionView:
    """A fold of the form with the number of its faults and a line of what it says."""

    id: str
    title: str
    note: str
    open: bool
    faults: int
    now: str
    way: str
    chosen: str
    options: Options
    groups: tuple[GroupView, ...]


@dataclass(frozen=True, slots=True)
class FormView:
    """The whole form."""

    name: FieldView
    sections: tuple[SectionView, ...]
    problems: tuple[Problem, ...]
    choices: Choices
    general: tuple[Problem, ...]
    chain: Chain


def form_view(values: Values, problems: Sequence[Problem], choices: Choices, traces: Options = ()) -> FormView:
    """Put the form together. Sections with faults are open, however they were. traces: what can be replayed."""
    by_field: dict[str, tuple[Problem, ...]] = {}
    for problem in problems:
        by_field[problem.field] = (*by_field.get(problem.field, ()), problem)
    return FormView(
        name=_field(Item("name", "Name of the scenario", "text", wide=True), values, by_field),
        sections=tuple(_section(section, values, by_field, traces) for section in SECTIONS),
        problems=tuple(problems),
        choices=choices,
        general=by_field.get("", ()),
        chain=chain_of(values),
    )


@dataclass(frozen=True, slots=True)
class GpuRow:
    """An accelerator with a price: whether it is asked for, the team's own price, how many it has."""

    gpu: GpuChoice
    chosen: bool
    own_price: str
    owned: str


def gpu_rows(form: FormView, values: Values) -> tuple[GpuRow, ...]:
    """Every accelerator with a price, the chosen ones first."""
    chosen, (price, owned) = asked_gpus(values), BY_GPU
    rows = [
        GpuRow(
            gpu,
            gpu.id in chosen,
            first(values, f"{price}{gpu.id}.usd_per_gpu_hour", ""),
            first(values, f"{owned}{gpu.id}", ""),
        )
        for gpu in form.choices.gpus
    ]
    return tuple(sorted(rows, key=lambda row: not row.chosen))


def other_gpu_fields(form: FormView, values: Values) -> tuple[tuple[str, str], ...]:
    """Fields (name, text) of accelerators that have no row; they are sent along."""
    listed = {gpu.id for gpu in form.choices.gpus}
    return tuple(
        (name, texts[0])
        for name, texts in values.items()
        for start in BY_GPU
        if name.startswith(start) and texts and name.removeprefix(start).removesuffix(".usd_per_gpu_hour") not in listed
    )


def other_gpus(form: FormView, values: Values) -> str:
    """What is asked for besides the listed accelerators: other ids, `any`, or accelerators of one's own as JSON."""
    listed = {gpu.id for gpu in form.choices.gpus}
    return ", ".join(text for text in values.get("hardware.gpus", []) if text not in listed)


def _section(section: Section, values: Values, by_field: Faults, traces: Options) -> SectionView:
    groups = tuple(_group(group, values, by_field, traces) for group in section.groups)
    faults = sum(len(field.problems) for group in groups for field in group.fields)
    chosen = first(values, section.way, DEFAULT_WAYS.get(section.way, ""))
    return SectionView(
        id=section.id,
        title=section.title,
        note=section.note,
        open=section.open or bool(faults),
        faults=faults,
        now=_now(section, groups, chosen),
        way=section.way,
        chosen=chosen,
        options=section.options,
        groups=groups,
    )


def _now(section: Section, groups: Sequence[GroupView], chosen: str) -> str:
    """What a closed section holds, in a line: values that speak for themselves, the others after their labels, a model
    after the provider whose it is."""
    fields = [
        field
        for group in groups
        if not group.ways or chosen in group.ways.split()
        for field in group.fields
        if field.value and field.widget not in ("area", "gpus")
    ]
    said = ""
    for field in fields[:4]:
        said += (" " if said and field.datalist == "api_models" else ", ") + _said(field)
    return said.removeprefix(", ")


def _said(field: FieldView) -> str:
    if field.datalist == "providers":
        return names.provider(field.value)
    named = dict(field.options).get(field.value, field.value)
    if field.unit in SAID_UNITS:
        return f"{named} {field.unit}"
    return f"{field.label} {named}" if field.numeric or field.name == "priced_at" else named


def _group(group: Group, values: Values, by_field: Faults, traces: Options) -> GroupView:
    fields = tuple(_field(item, values, by_field, traces) for item in group.items)
    return GroupView(
        title=group.title,
        ways=" ".join(group.ways),
        by_kind=bool(group.kind),
        folded=group.folded,
        chain=group.chain,
        open=any(field.problems or _own(field) for field in fields),
        fields=fields,
    )


def _own(field: FieldView) -> bool:
    """True for a field with a value that differs from its default."""
    return field.value not in ("", text_of(field_schema(field.name).default))


def _field(item: Item, values: Values, by_field: Faults, traces: Options = ()) -> FieldView:
    schema = field_schema(item.path)
    texts = values.get(item.path, [])
    options = traces if item.widget == "trace" else _options(item, schema)
    if options and len(texts) > 1:  # several of a choice, as a document from elsewhere may say
        options = (*options, (", ".join(texts), " and ".join(_label(item.path, text) for text in texts)))
        texts = [", ".join(texts)]
    value = ", ".join(texts) if item.widget == "list" else (texts[0] if texts else "")
    return FieldView(
        name=item.path,
        id=item.path.replace(".", "-"),
        label=item.label,
        widget=_widget(item, schema, options),
        value=value,
        unit=schema.unit,
        help=item.help or schema.help,
        default=f"{schema.default:g}" if schema.numeric and schema.default is not None else "",
        range_text=schema.range_text,
        options=options,
        selected=tuple(texts),
        kinds=" ".join(item.kinds),
        optional=item.optional,
        wide=item.wide,
        numeric=schema.numeric and item.widget not in ("list", "gpus"),
        problems=by_field.get(item.path, ()),
        datalist=item.widget if item.widget in ("models", "providers", "api_models") else "",
    )


def _widget(item: Item, schema: FieldSchema, options: Options) -> str:
    if item.widget in ("area", "trace", "gpus"):
        return item.widget
    return "select" if options else "text"


def _options(item: Item, schema: FieldSchema) -> Options:
    if item.widget:
        return ()
    if schema.boolean:
        return BOOLEAN_CHOICES
    named = tuple((choice, _label(item.path, choice)) for choice in schema.choices)
    return (("", item.unset), *named) if item.optional and named else named


def _label(path: str, choice: str) -> str:
    if path == "model.kv_dtype" and choice == "auto":
        return "auto (as the engine does)"
    if path.endswith(".caching"):
        return {"cheapest": "whatever costs least", "off": "not used"}.get(choice, CHOICE_LABELS.get(choice, choice))
    if path == "traffic.arrival.kind" and choice == "constant":
        return "Evenly spaced"
    return CHOICE_LABELS.get(choice, choice)
