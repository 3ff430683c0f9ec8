"""Changes of chart: to all coordinates beside a singular position, to another chart, and back to one."""

from __future__ import annotations

from dalembert import charts
from dalembert.analysis.mobility import independent_rows
from dalembert.charts import LocalChart
from dalembert.errors import DalembertError
from dalembert.simulation.run.context import Context, place


def without_chart(ctx: Context) -> None:
    """Go on in all coordinates, until the constraints are far enough from dependent for a chart."""
    if ctx.setup.coordinates is not None and not ctx.returning:
        if ctx.chart is not None:
            place(ctx, ctx.state(), ctx.rows, None, ctx.work.copy())
        ctx.returning, ctx.record.regime.until = True, ctx.far


def next_chart(ctx: Context) -> None:
    """Go on in a chart around the state now."""
    state, rows, system, p = ctx.state(), ctx.rows, ctx.system, ctx.setup.p
    if rows is not None:
        rows = independent_rows(system, state, p)
    chart: LocalChart | None = None
    if not ctx.charts:  # behind a start that has none
        try:
            chart = charts.choose(system, state, p, ctx.setup.coordinates)
        except DalembertError:  # nor has this state
            chart = None
    chart = charts.renewed(system, state, p, ctx.setup.coordinates) if chart is None else chart
    place(ctx, state, rows, chart, ctx.work.copy())
