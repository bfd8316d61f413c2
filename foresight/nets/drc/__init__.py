"""DRC(D, N), the Deep Repeated ConvLSTM, and its recurrent core on XLA and as a CUDA kernel."""
