"""Charts of the constraint manifold (Spencer 2.2-2.4): independent coordinates y and velocities w, (q, v) = Ψ(y, w).

    R(q, y) = 0,  Φ(q, t) = 0             give q by Newton's method from the last one                 (2.23), 2.3.1
    K = DΨ = [D₁R; A]⁻¹ [−D₂R; 0]         gives v = K ẏ, and with drivers A v + b = 0                 (2.29), (2.44)
    [D₁R; A] K̇ = −[Ḋ₂R; 0] − [Ḋ₁R; Ȧ] K                                                             (2.40)
    ÿ = −D₂R⁻¹ (D₁R v̇ + Ḋ₁R v + Ḋ₂R ẏ)                                                              (2.45)
    conditions: |D₂R| ≠ 0 and |[D₁R; A]| ≠ 0                                                          (2.27), (2.28)

A `Chart` says which coordinates lead; `system.chart(state, …)` makes it a `LocalChart`, which has Ψ, its inverse and
its derivatives. R is traced once; its derivatives serve NumPy and the kernels of a simulation. A chart is good as long
as the rows of [D₁R; A] are far from dependent (Remark 1 after 2.37).
"""

from dalembert.charts.description import Chart
from dalembert.charts.leaders import cut_coordinates
from dalembert.charts.local import LocalChart
from dalembert.charts.making import check, choose, custom, named, renewed, tangent
from dalembert.charts.record import recorded, restored

__all__ = [
    "Chart", "LocalChart", "check", "choose", "custom", "cut_coordinates", "named", "recorded", "renewed", "restored",
    "tangent",
]  # fmt: skip
