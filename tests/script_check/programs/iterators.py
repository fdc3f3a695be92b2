import mxnet as mx

it = mx.io.ImageRecordIter(path_imgrec="a.rec", data_shape=(3, 8, 8), batch_size=2, rand_miror=True)  # expect: keyword
it = mx.io.CSVIter(data_csv="a.csv", data_shape=(3,), batch_size=2)  # expect: file
it = mx.io.LibSVMIter(data_libsvm="a", data_shape=(3,), batch_size=2)  # expect: file
it = mx.image.ImageIter(batch_size=2, data_shape=(3, 8, 8), path_imgrec="a.rec", rand_crop=True)
it = mx.io.MNISTIter(image="a", label="b", input_shape=(784,))  # expect: keyword
it = mx.io.NoIter()  # expect: mistake
