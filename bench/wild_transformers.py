"""Small models of transformers' classes, with random weights: text, speech, images and series."""
import torch
import transformers as hf
from torch import nn

SMALL = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
TEXT = {"vocab_size": 2000, **SMALL}


class First(nn.Module):
    """The first tensor of what a model gives."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return next(value for value in self.model(*inputs).to_tuple() if torch.is_tensor(value))


def words(count=64):
    return (torch.randint(5, 1000, (1, count)),)


def picture(side=224):
    return (torch.randn(1, 3, side, side),)


def of(model, config, example):
    return lambda: (First(model(config())), example())


TRANSFORMERS = {
    "distilbert": of(hf.DistilBertModel, lambda: hf.DistilBertConfig(
        vocab_size=2000, dim=256, n_layers=4, n_heads=4, hidden_dim=1024), words),
    "deberta_v2": of(hf.DebertaV2Model, lambda: hf.DebertaV2Config(
        relative_attention=True, position_buckets=32, pos_att_type=["p2c", "c2p"], **TEXT), words),
    "albert": of(hf.AlbertModel, lambda: hf.AlbertConfig(embedding_size=128, **TEXT), words),
    "convbert": of(hf.ConvBertModel, lambda: hf.ConvBertConfig(embedding_size=256, **TEXT), words),
    "squeezebert": of(hf.SqueezeBertModel, lambda: hf.SqueezeBertConfig(embedding_size=256, **TEXT), words),
    "t5_encoder": of(hf.T5EncoderModel, lambda: hf.T5Config(
        vocab_size=2000, d_model=256, d_kv=64, d_ff=1024, num_layers=4, num_heads=4), words),
    "mamba": of(hf.MambaModel, lambda: hf.MambaConfig(
        hidden_size=128, num_hidden_layers=2, vocab_size=1000, use_cache=False), lambda: words(32)),
    "wav2vec2": of(hf.Wav2Vec2Model, lambda: hf.Wav2Vec2Config(
        conv_dim=(128,) * 7, num_conv_pos_embeddings=64, num_conv_pos_embedding_groups=8, **SMALL),
        lambda: (torch.randn(1, 16000),)),
    "whisper_encoder": of(hf.models.whisper.modeling_whisper.WhisperEncoder, lambda: hf.WhisperConfig(
        d_model=256, encoder_layers=4, encoder_attention_heads=4, encoder_ffn_dim=1024, num_mel_bins=80,
        max_source_positions=300), lambda: (torch.randn(1, 80, 600),)),
    "segformer": of(hf.SegformerForSemanticSegmentation, lambda: hf.SegformerConfig(num_labels=20),
                    lambda: picture(256)),
    "swinv2": of(hf.Swinv2Model, lambda: hf.Swinv2Config(
        image_size=224, embed_dim=48, depths=[2, 2, 2, 2], num_heads=[2, 4, 8, 16], window_size=7), picture),
    "patchtst": of(hf.PatchTSTForPrediction, lambda: hf.PatchTSTConfig(
        num_input_channels=7, context_length=256, patch_length=16, patch_stride=8, prediction_length=96, d_model=128,
        num_hidden_layers=3), lambda: (torch.randn(1, 256, 7),)),
}
