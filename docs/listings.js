// Highlights the listings of PTX and SASS, which highlight.js of mdBook does not know. mdBook loads
// this file after its own script, so listings in other languages are already highlighted.
(() => {
    "use strict";

    const ptx = hljs => ({
        contains: [
            hljs.C_LINE_COMMENT_MODE,
            hljs.C_BLOCK_COMMENT_MODE,
            hljs.QUOTE_STRING_MODE,
            { className: "symbol", begin: /^[ \t]*[\w$]+:/ },
            { className: "variable", begin: /%[\w.$]+/ },
            // A mnemonic with its modifiers, then a directive or a type.
            { className: "built_in", begin: /\b[a-z]\w*(\.[a-z0-9_:]+)+/ },
            { className: "built_in", begin: /\b(ret|exit|bra|call|trap|brkpt|mov)\b/ },
            { className: "keyword", begin: /\.[a-z]\w*/ },
            { className: "number", begin: /\b(0[xXfFdD][0-9a-fA-F]+|\d+)U?\b/ },
        ],
    });

    const sass = hljs => ({
        contains: [
            hljs.C_LINE_COMMENT_MODE,
            hljs.C_BLOCK_COMMENT_MODE,
            // The control codes of an instruction, such as `[B0-----:R-:W1:-:S02]`.
            { className: "meta", begin: /\[B[^\]]*\]/ },
            { className: "symbol", begin: /\.L_x_\d+:?|^[ \t]*\.text\.[\w$]+:/ },
            { className: "keyword", begin: /^[ \t]*\.[a-z]\w*/ },
            { className: "variable", begin: /\b(U?R(\d+|Z)|U?P(\d|T)|S?B\d+|SR_[\w.]+)\b/ },
            { className: "built_in", begin: /\b[A-Z][A-Z0-9]+(\.[A-Z0-9_]+)*/ },
            { className: "number", begin: /\b(0x[0-9a-f]+|\d+(\.\d+)?)\b/ },
        ],
    });

    hljs.registerLanguage("ptx", ptx);
    hljs.registerLanguage("sass", sass);
    document.querySelectorAll("code.language-ptx, code.language-sass").forEach(listing => {
        hljs.highlightBlock(listing);
    });
})();
