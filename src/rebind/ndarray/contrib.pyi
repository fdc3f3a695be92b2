"""`nd.contrib`: the operators whose names begin with ``_contrib_``.

Written by ``make stubs`` from the table of operators; not to be edited.
"""


from .arithmetic import isfinite as isfinite
from .arithmetic import isinf as isinf
from .arithmetic import isnan as isnan
from .control_flow import cond as cond
from .control_flow import foreach as foreach
from .control_flow import while_loop as while_loop
from .drawing import rand_zipfian as rand_zipfian
from .updates import adamw_update as adamw_update
from .updates import mp_adamw_update as mp_adamw_update
from .updates import multi_adamw_update as multi_adamw_update
from .updates import multi_lamb_update as multi_lamb_update
from .updates import multi_mp_adamw_update as multi_mp_adamw_update
from .updates import multi_mp_lamb_update as multi_mp_lamb_update
from . import generated as _generated

AdaptiveAvgPooling2D = _generated._contrib_AdaptiveAvgPooling2D
BatchNormWithReLU = _generated._contrib_BatchNormWithReLU
BilinearResize2D = _generated._contrib_BilinearResize2D
CTCLoss = _generated._contrib_CTCLoss
DeformableConvolution = _generated._contrib_DeformableConvolution
DeformablePSROIPooling = _generated._contrib_DeformablePSROIPooling
ModulatedDeformableConvolution = _generated._contrib_ModulatedDeformableConvolution
MultiBoxDetection = _generated._contrib_MultiBoxDetection
MultiBoxPrior = _generated._contrib_MultiBoxPrior
MultiBoxTarget = _generated._contrib_MultiBoxTarget
MultiProposal = _generated._contrib_MultiProposal
PSROIPooling = _generated._contrib_PSROIPooling
Proposal = _generated._contrib_Proposal
ROIAlign = _generated._contrib_ROIAlign
RROIAlign = _generated._contrib_RROIAlign
SparseEmbedding = _generated._contrib_SparseEmbedding
SyncBatchNorm = _generated._contrib_SyncBatchNorm
allclose = _generated._contrib_allclose
arange_like = _generated._contrib_arange_like
bipartite_matching = _generated._contrib_bipartite_matching
boolean_mask = _generated._contrib_boolean_mask
box_decode = _generated._contrib_box_decode
box_encode = _generated._contrib_box_encode
box_iou = _generated._contrib_box_iou
box_nms = _generated._contrib_box_nms
box_non_maximum_suppression = _generated._contrib_box_non_maximum_suppression
calibrate_entropy = _generated._contrib_calibrate_entropy
count_sketch = _generated._contrib_count_sketch
ctc_loss = _generated._contrib_ctc_loss
dequantize = _generated._contrib_dequantize
div_sqrt_dim = _generated._contrib_div_sqrt_dim
edge_id = _generated._contrib_edge_id
fft = _generated._contrib_fft
getnnz = _generated._contrib_getnnz
gradientmultiplier = _generated._contrib_gradientmultiplier
group_adagrad_update = _generated._contrib_group_adagrad_update
hawkesll = _generated._contrib_hawkesll
ifft = _generated._contrib_ifft
index_array = _generated._contrib_index_array
index_copy = _generated._contrib_index_copy
interleaved_matmul_encdec_qk = _generated._contrib_interleaved_matmul_encdec_qk
interleaved_matmul_encdec_valatt = _generated._contrib_interleaved_matmul_encdec_valatt
interleaved_matmul_selfatt_qk = _generated._contrib_interleaved_matmul_selfatt_qk
interleaved_matmul_selfatt_valatt = _generated._contrib_interleaved_matmul_selfatt_valatt
quadratic = _generated._contrib_quadratic
quantize = _generated._contrib_quantize
quantize_asym = _generated._contrib_quantize_asym
quantize_v2 = _generated._contrib_quantize_v2
quantized_act = _generated._contrib_quantized_act
quantized_batch_norm = _generated._contrib_quantized_batch_norm
quantized_concat = _generated._contrib_quantized_concat
quantized_conv = _generated._contrib_quantized_conv
quantized_elemwise_add = _generated._contrib_quantized_elemwise_add
quantized_elemwise_mul = _generated._contrib_quantized_elemwise_mul
quantized_embedding = _generated._contrib_quantized_embedding
quantized_flatten = _generated._contrib_quantized_flatten
quantized_fully_connected = _generated._contrib_quantized_fully_connected
quantized_pooling = _generated._contrib_quantized_pooling
quantized_rnn = _generated._contrib_quantized_rnn
requantize = _generated._contrib_requantize
round_ste = _generated._contrib_round_ste
sign_ste = _generated._contrib_sign_ste
