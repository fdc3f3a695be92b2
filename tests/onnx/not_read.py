"""The cases of `onnx.backend.test` that are not read, or give other numbers; the test holds the table exact."""

#: Names of cases without ``test_``, by what of them MXNet has not.
NOT_READ = {
    "training: a module says whether and how it trains": """
        adagrad adagrad_multiple adam adam_multiple momentum momentum_multiple nesterov_momentum training_dropout
        training_dropout_default training_dropout_default_mask training_dropout_mask
    """,
    "types of no arrays of MXNet: unsigned of 16 bits and more, floats of 8 bits, numbers of 4 and 2": """
        add_uint16 add_uint32 add_uint64 bitcast_uint16_to_int16 bitcast_uint32_to_int32 bitshift_left_uint16
        bitshift_left_uint32 bitshift_left_uint64 bitshift_right_uint16 bitshift_right_uint32
        bitshift_right_uint64 bitwise_and_ui64_bcast_3v1d bitwise_not_3d bitwise_or_ui64_bcast_3v1d
        bitwise_xor_ui64_bcast_3v1d cast_FLOAT16_to_FLOAT4E2M1 cast_FLOAT16_to_FLOAT8E4M3FN
        cast_FLOAT16_to_FLOAT8E4M3FNUZ cast_FLOAT16_to_FLOAT8E5M2 cast_FLOAT16_to_FLOAT8E5M2FNUZ
        cast_FLOAT16_to_INT2 cast_FLOAT16_to_INT4 cast_FLOAT16_to_UINT2 cast_FLOAT16_to_UINT4
        cast_FLOAT4E2M1_to_FLOAT cast_FLOAT4E2M1_to_FLOAT16 cast_FLOAT8E4M3FNUZ_to_FLOAT
        cast_FLOAT8E4M3FNUZ_to_FLOAT16 cast_FLOAT8E4M3FN_to_FLOAT cast_FLOAT8E4M3FN_to_FLOAT16
        cast_FLOAT8E5M2FNUZ_to_FLOAT cast_FLOAT8E5M2FNUZ_to_FLOAT16 cast_FLOAT8E5M2_to_FLOAT
        cast_FLOAT8E5M2_to_FLOAT16 cast_FLOAT_to_FLOAT4E2M1 cast_FLOAT_to_FLOAT8E4M3FN
        cast_FLOAT_to_FLOAT8E4M3FNUZ cast_FLOAT_to_FLOAT8E5M2 cast_FLOAT_to_FLOAT8E5M2FNUZ cast_FLOAT_to_INT2
        cast_FLOAT_to_INT4 cast_FLOAT_to_UINT2 cast_FLOAT_to_UINT4 cast_INT2_to_FLOAT cast_INT2_to_FLOAT16
        cast_INT2_to_INT8 cast_INT4_to_FLOAT cast_INT4_to_FLOAT16 cast_INT4_to_INT8 cast_UINT2_to_FLOAT
        cast_UINT2_to_FLOAT16 cast_UINT2_to_UINT8 cast_UINT4_to_FLOAT cast_UINT4_to_FLOAT16 cast_UINT4_to_UINT8
        cast_e8m0_FLOAT16_to_FLOAT8E8M0 cast_e8m0_FLOAT8E8M0_to_FLOAT cast_e8m0_FLOAT8E8M0_to_FLOAT16
        cast_e8m0_FLOAT_to_FLOAT8E8M0 cast_no_saturate_FLOAT16_to_FLOAT8E4M3FN
        cast_no_saturate_FLOAT16_to_FLOAT8E4M3FNUZ cast_no_saturate_FLOAT16_to_FLOAT8E5M2
        cast_no_saturate_FLOAT16_to_FLOAT8E5M2FNUZ cast_no_saturate_FLOAT_to_FLOAT8E4M3FN
        cast_no_saturate_FLOAT_to_FLOAT8E4M3FNUZ cast_no_saturate_FLOAT_to_FLOAT8E5M2
        cast_no_saturate_FLOAT_to_FLOAT8E5M2FNUZ castlike_FLOAT16_to_FLOAT4E2M1
        castlike_FLOAT16_to_FLOAT4E2M1_expanded castlike_FLOAT16_to_FLOAT8E4M3FN
        castlike_FLOAT16_to_FLOAT8E4M3FNUZ castlike_FLOAT16_to_FLOAT8E4M3FNUZ_expanded
        castlike_FLOAT16_to_FLOAT8E4M3FN_expanded castlike_FLOAT16_to_FLOAT8E5M2
        castlike_FLOAT16_to_FLOAT8E5M2FNUZ castlike_FLOAT16_to_FLOAT8E5M2FNUZ_expanded
        castlike_FLOAT16_to_FLOAT8E5M2_expanded castlike_FLOAT16_to_INT2 castlike_FLOAT16_to_INT2_expanded
        castlike_FLOAT16_to_INT4 castlike_FLOAT16_to_INT4_expanded castlike_FLOAT16_to_UINT2
        castlike_FLOAT16_to_UINT2_expanded castlike_FLOAT16_to_UINT4 castlike_FLOAT16_to_UINT4_expanded
        castlike_FLOAT4E2M1_to_FLOAT castlike_FLOAT4E2M1_to_FLOAT16 castlike_FLOAT4E2M1_to_FLOAT16_expanded
        castlike_FLOAT4E2M1_to_FLOAT_expanded castlike_FLOAT8E4M3FNUZ_to_FLOAT castlike_FLOAT8E4M3FNUZ_to_FLOAT16
        castlike_FLOAT8E4M3FNUZ_to_FLOAT16_expanded castlike_FLOAT8E4M3FNUZ_to_FLOAT_expanded
        castlike_FLOAT8E4M3FN_to_FLOAT castlike_FLOAT8E4M3FN_to_FLOAT16 castlike_FLOAT8E4M3FN_to_FLOAT16_expanded
        castlike_FLOAT8E4M3FN_to_FLOAT_expanded castlike_FLOAT8E5M2FNUZ_to_FLOAT
        castlike_FLOAT8E5M2FNUZ_to_FLOAT16 castlike_FLOAT8E5M2FNUZ_to_FLOAT16_expanded
        castlike_FLOAT8E5M2FNUZ_to_FLOAT_expanded castlike_FLOAT8E5M2_to_FLOAT castlike_FLOAT8E5M2_to_FLOAT16
        castlike_FLOAT8E5M2_to_FLOAT16_expanded castlike_FLOAT8E5M2_to_FLOAT_expanded castlike_FLOAT_to_FLOAT4E2M1
        castlike_FLOAT_to_FLOAT4E2M1_expanded castlike_FLOAT_to_FLOAT8E4M3FN castlike_FLOAT_to_FLOAT8E4M3FNUZ
        castlike_FLOAT_to_FLOAT8E4M3FNUZ_expanded castlike_FLOAT_to_FLOAT8E4M3FN_expanded
        castlike_FLOAT_to_FLOAT8E5M2 castlike_FLOAT_to_FLOAT8E5M2FNUZ castlike_FLOAT_to_FLOAT8E5M2FNUZ_expanded
        castlike_FLOAT_to_FLOAT8E5M2_expanded castlike_FLOAT_to_INT2 castlike_FLOAT_to_INT2_expanded
        castlike_FLOAT_to_INT4 castlike_FLOAT_to_INT4_expanded castlike_FLOAT_to_UINT2
        castlike_FLOAT_to_UINT2_expanded castlike_FLOAT_to_UINT4 castlike_FLOAT_to_UINT4_expanded
        castlike_INT2_to_FLOAT castlike_INT2_to_FLOAT16 castlike_INT2_to_FLOAT16_expanded
        castlike_INT2_to_FLOAT_expanded castlike_INT2_to_INT8 castlike_INT2_to_INT8_expanded
        castlike_INT4_to_FLOAT castlike_INT4_to_FLOAT16 castlike_INT4_to_FLOAT16_expanded
        castlike_INT4_to_FLOAT_expanded castlike_INT4_to_INT8 castlike_INT4_to_INT8_expanded
        castlike_UINT2_to_FLOAT castlike_UINT2_to_FLOAT16 castlike_UINT2_to_FLOAT16_expanded
        castlike_UINT2_to_FLOAT_expanded castlike_UINT2_to_UINT8 castlike_UINT2_to_UINT8_expanded
        castlike_UINT4_to_FLOAT castlike_UINT4_to_FLOAT16 castlike_UINT4_to_FLOAT16_expanded
        castlike_UINT4_to_FLOAT_expanded castlike_UINT4_to_UINT8 castlike_UINT4_to_UINT8_expanded
        castlike_no_saturate_FLOAT16_to_FLOAT8E4M3FN castlike_no_saturate_FLOAT16_to_FLOAT8E4M3FNUZ
        castlike_no_saturate_FLOAT16_to_FLOAT8E4M3FNUZ_expanded
        castlike_no_saturate_FLOAT16_to_FLOAT8E4M3FN_expanded castlike_no_saturate_FLOAT16_to_FLOAT8E5M2
        castlike_no_saturate_FLOAT16_to_FLOAT8E5M2FNUZ castlike_no_saturate_FLOAT16_to_FLOAT8E5M2FNUZ_expanded
        castlike_no_saturate_FLOAT16_to_FLOAT8E5M2_expanded castlike_no_saturate_FLOAT_to_FLOAT8E4M3FN
        castlike_no_saturate_FLOAT_to_FLOAT8E4M3FNUZ castlike_no_saturate_FLOAT_to_FLOAT8E4M3FNUZ_expanded
        castlike_no_saturate_FLOAT_to_FLOAT8E4M3FN_expanded castlike_no_saturate_FLOAT_to_FLOAT8E5M2
        castlike_no_saturate_FLOAT_to_FLOAT8E5M2FNUZ castlike_no_saturate_FLOAT_to_FLOAT8E5M2FNUZ_expanded
        castlike_no_saturate_FLOAT_to_FLOAT8E5M2_expanded dequantizelinear_e4m3fn dequantizelinear_e4m3fn_float16
        dequantizelinear_e4m3fn_zero_point dequantizelinear_e5m2 dequantizelinear_float4e2m1 dequantizelinear_int2
        dequantizelinear_int4 dequantizelinear_uint16 dequantizelinear_uint2 dequantizelinear_uint4 div_uint16
        div_uint32 div_uint64 equal_uint16 equal_uint32 equal_uint64 greater_equal_uint16
        greater_equal_uint16_expanded greater_equal_uint32 greater_equal_uint32_expanded greater_equal_uint64
        greater_equal_uint64_expanded greater_uint16 greater_uint32 greater_uint64 less_equal_uint16
        less_equal_uint16_expanded less_equal_uint32 less_equal_uint32_expanded less_equal_uint64
        less_equal_uint64_expanded less_uint16 less_uint32 less_uint64 max_uint16 max_uint32 max_uint64 min_uint16
        min_uint32 min_uint64 mod_uint16 mod_uint32 mod_uint64 mul_uint16 mul_uint32 mul_uint64
        pow_types_float32_uint32 pow_types_float32_uint64 quantizelinear_e4m3fn quantizelinear_e5m2
        quantizelinear_float4e2m1 quantizelinear_int2 quantizelinear_int4 quantizelinear_uint16
        quantizelinear_uint2 quantizelinear_uint4 sub_uint16 sub_uint32 sub_uint64 top_k_uint64
    """,
    "ai.onnx.ml, operators that are no networks": """
        ai_onnx_ml_array_feature_extractor ai_onnx_ml_binarizer ai_onnx_ml_label_encoder_string_int
        ai_onnx_ml_label_encoder_string_int_no_default ai_onnx_ml_label_encoder_tensor_mapping
        ai_onnx_ml_label_encoder_tensor_value_only_mapping ai_onnx_ml_tree_ensemble_set_membership
        ai_onnx_ml_tree_ensemble_single_tree
    """,
    "rounded to 16 bits at other steps than onnx's reference": """
        attention_3d_causal_bf16 attention_3d_causal_bf16_expanded attention_4d_attn_mask_causal_bf16
        attention_4d_attn_mask_causal_bf16_expanded attention_4d_causal_bf16 attention_4d_causal_bf16_expanded
        attention_4d_causal_fp16 attention_4d_causal_fp16_expanded attention_4d_causal_padded_kv_bf16
        attention_4d_causal_padded_kv_bf16_expanded attention_4d_padded_kv_bf16
        attention_4d_padded_kv_bf16_expanded
    """,
    "random numbers, of which onnx's are others": """
        bernoulli bernoulli_double bernoulli_double_expanded bernoulli_expanded bernoulli_seed
        bernoulli_seed_expanded
    """,
    "0 where onnx's numbers have a rounding error of 2e-7, above its absolute tolerance of 1e-7": """
        dft_inverse dft_inverse_opset19
    """,
    "texts": """
        equal_string equal_string_broadcast regex_full_match_basic regex_full_match_email_domain
        regex_full_match_empty string_concat string_concat_broadcasting string_concat_empty_string
        string_concat_utf8 string_concat_zero_dimensional string_split_basic string_split_consecutive_delimiters
        string_split_empty_string_delimiter string_split_empty_tensor string_split_maxsplit
        string_split_no_delimiter strnormalizer_export_monday_casesensintive_lower
        strnormalizer_export_monday_casesensintive_nochangecase strnormalizer_export_monday_casesensintive_upper
        strnormalizer_export_monday_empty_output strnormalizer_export_monday_insensintive_upper_twodim
        strnormalizer_nostopwords_nochangecase tfidfvectorizer_tf_batch_onlybigrams_skip0
        tfidfvectorizer_tf_batch_onlybigrams_skip5 tfidfvectorizer_tf_batch_uniandbigrams_skip5
        tfidfvectorizer_tf_only_bigrams_skip0 tfidfvectorizer_tf_onlybigrams_levelempty
        tfidfvectorizer_tf_onlybigrams_skip5 tfidfvectorizer_tf_uniandbigrams_skip5
    """,
    "sequences and optional values": """
        identity_opt identity_sequence if_opt if_seq loop13_seq loop16_seq_none
        optional_get_element_optional_sequence optional_get_element_optional_tensor optional_get_element_sequence
        optional_get_element_tensor optional_has_element_empty_no_input_name_optional_input
        optional_has_element_empty_no_input_name_tensor_input optional_has_element_empty_no_input_optional_input
        optional_has_element_empty_no_input_tensor_input optional_has_element_empty_optional_input
        optional_has_element_optional_input optional_has_element_tensor_input sequence_insert_at_back
        sequence_insert_at_front sequence_map_add_1_sequence_1_tensor
        sequence_map_add_1_sequence_1_tensor_expanded sequence_map_add_2_sequences
        sequence_map_add_2_sequences_expanded sequence_map_extract_shapes sequence_map_extract_shapes_expanded
        sequence_map_identity_1_sequence sequence_map_identity_1_sequence_1_tensor
        sequence_map_identity_1_sequence_1_tensor_expanded sequence_map_identity_1_sequence_expanded
        sequence_map_identity_2_sequences sequence_map_identity_2_sequences_expanded split_to_sequence_1
        split_to_sequence_2 split_to_sequence_nokeepdims
    """,
    "files of pictures as data": """
        image_decoder_decode_bmp_rgb image_decoder_decode_jpeg2k_rgb image_decoder_decode_jpeg_bgr
        image_decoder_decode_jpeg_grayscale image_decoder_decode_jpeg_rgb image_decoder_decode_png_rgb
        image_decoder_decode_pnm_rgb image_decoder_decode_tiff_rgb image_decoder_decode_webp_rgb
    """,
    "loops whose bodies' shapes follow from the number of the step, or are not known": """
        loop11 range_bfloat16_type_positive_delta_expanded range_float16_type_positive_delta_expanded
        range_float_type_positive_delta_expanded range_int32_type_negative_delta_expanded
    """,
    "filters for spectra, for which MXNet has no operator": """
        melweightmatrix
    """,
    "arrays of size 0": """
        reduce_max_empty_set reduce_max_empty_set_bool reduce_min_empty_set reshape_allowzero_reordered tril_zero
        triu_zero
    """,
    "the greatest sample of a region: MXNet has means only": """
        roialign_mode_max
    """,
    "the Scan of version 8, with a batch": """
        scan_sum
    """,
}
