"""The cases of `onnx.backend.test` that are not read, or give other numbers; the test holds the table exact."""

#: Names of cases without ``test_``, by what of them MXNet has not.
NOT_READ = {
    "training: a module says whether and how it trains": """
        adagrad adagrad_multiple adam adam_multiple momentum momentum_multiple nesterov_momentum training_dropout
        training_dropout_default training_dropout_default_mask training_dropout_mask
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
        optional_has_element_empty_optional_input optional_has_element_optional_input
        optional_has_element_tensor_input sequence_insert_at_back sequence_insert_at_front
        sequence_map_add_1_sequence_1_tensor sequence_map_add_1_sequence_1_tensor_expanded
        sequence_map_add_2_sequences sequence_map_add_2_sequences_expanded sequence_map_extract_shapes
        sequence_map_extract_shapes_expanded sequence_map_identity_1_sequence
        sequence_map_identity_1_sequence_1_tensor sequence_map_identity_1_sequence_1_tensor_expanded
        sequence_map_identity_1_sequence_expanded sequence_map_identity_2_sequences
        sequence_map_identity_2_sequences_expanded split_to_sequence_1 split_to_sequence_2
        split_to_sequence_nokeepdims
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
