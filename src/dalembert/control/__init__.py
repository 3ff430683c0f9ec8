"""Controllers: functions u(t, state) for `da.simulate`, one file a controller."""

from dalembert.control.diagonal import PoseRegulation, TotalRateFeedback

__all__ = ["PoseRegulation", "TotalRateFeedback"]
