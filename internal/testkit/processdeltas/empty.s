// This file is empty. Because of it, the compiler accepts functions without a body, which the linker finds elsewhere.
