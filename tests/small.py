"""Every intracranial model in a width that trains in seconds."""

TOWER = "{spec_size: 256, patch_embeds_hidden_size: 16, depths: [1, 1], num_attention_heads: [2, 2], hidden_size: 32, \
projection_dim: 16, num_hidden_layers: 2}"

SEGMENT_MODELS: dict[str, dict[str, object]] = {
    "timeconv_cnn": {"n_freqs": 16},
    "timeconv_cnn_250hz": {"n_freqs": 16},
    "seegnet": {},
    "clap": {"config": TOWER},
    "ast": {"n_blocks": 1},
    "vit_segment": {"n_freqs": 32, "n_layers": 1, "d_model": 32, "n_heads": 2, "d_mlp": 32},
    "lstm_segment": {"hidden_size": 8},
    "timesnet_segment": {"d_model": 4, "d_ff": 4, "n_blocks": 1, "top_k": 2},
    "eegnet_1ch": {},
    "handcrafted": {},
}
EVENT_MODELS: dict[str, dict[str, object]] = {
    "pyhfo_omni": {},
    "lstm_attention": {"hidden_size": 8},
    "patchtst": {"n_layers": 1, "d_model": 16, "n_heads": 2, "dim_feedforward": 16},
    "timesnet": {"d_model": 4, "d_ff": 4, "n_blocks": 1, "top_k": 2},
    "vit_event": {"n_blocks": 1},
    "pyhfo_artifact": {},
    "pyhfo_spike": {},
    "ehfo": {},
}
ESTIMATORS: dict[str, dict[str, object]] = {"handcrafted_logreg": {}, "handcrafted_gbm": {"estimator.max_iter": 20}}


def small(model: str) -> list[str]:
    """Overrides that choose a model and make it narrow."""
    widths = (SEGMENT_MODELS | EVENT_MODELS | ESTIMATORS)[model]
    return [f"model={model}", *(f"model.net.{name}={value}" for name, value in widths.items())]
