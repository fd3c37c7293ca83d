// A lexer whose states are labels: identifiers, numbers, strings with escapes, comments, errors.
extern "C" __global__ void lexer_goto(const unsigned char *text, int length, unsigned *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *p = text + thread * length, *end = p + length;
    unsigned words = 0, numbers = 0, strings = 0, comments = 0, errors = 0, hash = 2166136261u;
    unsigned c, value;

start:
    if (p == end)
        goto done;
    c = *p++;
    if (c == ' ')
        goto start;
    if (c >= 'a' && c <= 'z')
        goto word;
    if (c >= '0' && c <= '9') {
        value = c - '0';
        goto number;
    }
    if (c == '"')
        goto string;
    if (c == '#')
        goto comment;
    if (c == '$')
        goto done;
    errors++;
    goto start;

word:
    hash = (hash ^ c) * 16777619u;
    if (p == end)
        goto word_end;
    c = *p++;
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
        goto word;
    p--;
word_end:
    words++;
    goto start;

number:
    if (p == end)
        goto number_end;
    c = *p++;
    if (c >= '0' && c <= '9') {
        value = value * 10 + (c - '0');
        goto number;
    }
    if (c >= 'a' && c <= 'z') {
        errors++;
        goto word;
    }
    p--;
number_end:
    hash += value;
    numbers++;
    goto start;

string:
    if (p == end) {
        errors++;
        goto done;
    }
    c = *p++;
    if (c == '\\') {
        if (p == end)
            goto string;
        c = *p++ + 1;
        hash = (hash ^ c) * 16777619u;
        goto string;
    }
    if (c != '"') {
        hash = (hash ^ c) * 16777619u;
        goto string;
    }
    strings++;
    goto start;

comment:
    while (p != end) {
        c = *p++;
        if (c == ';') {
            comments++;
            goto start;
        }
        if (c == '"')
            goto string;
    }
    errors++;

done:
    out[thread * 4] = words | numbers << 16;
    out[thread * 4 + 1] = strings | comments << 16;
    out[thread * 4 + 2] = errors;
    out[thread * 4 + 3] = hash;
}
