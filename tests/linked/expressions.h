// The lower three bits of a byte of the text select its handler. A handler moves `text` beyond its expression.
typedef unsigned (*Handler)(const unsigned char *&text, unsigned x);

extern __device__ Handler handlers[6];
__device__ unsigned evaluate(const unsigned char *&text, unsigned x);

__device__ unsigned leaf(const unsigned char *&text, unsigned x);
__device__ unsigned add(const unsigned char *&text, unsigned x);
__device__ unsigned multiply(const unsigned char *&text, unsigned x);
__device__ unsigned choose(const unsigned char *&text, unsigned x);
__device__ unsigned negate(const unsigned char *&text, unsigned x);
__device__ unsigned repeat(const unsigned char *&text, unsigned x);
