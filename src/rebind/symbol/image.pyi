"""`sym.image`: the operators whose names begin with ``_image_``.

Written by ``make stubs`` from the table of operators; not to be edited.
"""


from . import generated as _generated

adjust_lighting = _generated._image_adjust_lighting
crop = _generated._image_crop
flip_left_right = _generated._image_flip_left_right
flip_top_bottom = _generated._image_flip_top_bottom
normalize = _generated._image_normalize
random_brightness = _generated._image_random_brightness
random_color_jitter = _generated._image_random_color_jitter
random_contrast = _generated._image_random_contrast
random_flip_left_right = _generated._image_random_flip_left_right
random_flip_top_bottom = _generated._image_random_flip_top_bottom
random_hue = _generated._image_random_hue
random_lighting = _generated._image_random_lighting
random_saturation = _generated._image_random_saturation
resize = _generated._image_resize
to_tensor = _generated._image_to_tensor
