"""The cases of the gallery in the order in which they are shown, by what they show."""

GROUPS = {
    "Runs of the papers": (
        "five_bar_1", "five_bar_2", "five_bar_study", "slider_crank", "projected_control", "loader",
        "constrained_pendulum", "total_rates", "hand", "ssrms",
    ),
    "Kinematics and statics": ("jansen", "peaucellier", "scissor_lift", "excavator", "wishbone", "engine"),
    "Motion": ("four_bar_long", "ladder", "bricard", "governor", "bicycle", "car", "marionette"),
    "Control": (
        "delta", "stewart", "two_arms", "singular_control", "beyond_workspace", "governor_lqr", "swing_up", "parking",
        "pull_up", "marionette_carried",
    ),
    "Changing structure": (
        "five_bar_latch", "grasp", "hand_held", "regrasp", "rimless_wheel", "juggler", "clutch", "hoist",
        "geneva", "ratchet",
    ),
    "On the ground": ("quadruped", "trot", "tumbling_box", "catching"),
    "Many runs at once": ("tolerances", "robust_regulator", "passage_map", "suspension_indices", "learned_balance"),
}  # fmt: skip
CASES = [case for cases in GROUPS.values() for case in cases]
