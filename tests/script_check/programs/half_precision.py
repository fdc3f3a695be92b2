import mxnet as mx
from mxnet.contrib import amp
from mxnet.contrib.quantization import quantize_model

amp.init(target_dtype="bfloat16")  # expect: value
amp.init()
symbol, args, auxs = mx.model.load_checkpoint("net", 1)
converted = amp.convert_model(symbol, args, auxs, target_dtype="float16", excluded_sym_name=["fc"])  # expect: keyword
quantized = quantize_model(sym=symbol, arg_params=args, aux_params=auxs, calib_mode="naive", quantized_dtype="int8")
amp.convert_hybrid_block(None)  # expect: absent
