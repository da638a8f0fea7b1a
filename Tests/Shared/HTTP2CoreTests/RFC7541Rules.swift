extension Rule {
    /// RFC 7541, in the order of its text.
    static let ofRFC7541: [Rule] = [
        Rule(
            "2.3.2", "An entry that is in the dynamic table twice is no error.",
            "RFC 7541, 2.3.2: an entry may be in the table twice",
            "RFC 7541, 2.3.2: the table is first-in, first-out over many entries"),
        Rule(
            "2.3.3", "An index beyond both tables is a decoding error.",
            "RFC 7541, 2.3.3: indices beyond both tables are errors"),
        Rule(
            "3.1", "Fields are encoded in the order of the list.",
            "RFC 7541, 3.1: every list is the same after encoding and decoding, with tables of all sizes"),
        Rule(
            "3.1", "Fields are decoded in the order of the block.",
            "RFC 7541, 3.1: every list is the same after encoding and decoding, with tables of all sizes"),
        Rule(
            "4.2", "An encoder's table is not larger than the peer's limit.",
            "RFC 7541, 4.2: the encoder announces the smallest and the last size",
            "RFC 7541, 4.2: the encoder's table is not larger than our limit"),
        Rule(
            "4.2", "A change of the table's size is at the beginning of the first block after it.",
            "RFC 7541, 4.2: the table's size changes only at the beginning of a block",
            "RFC 7541, 4.2: the encoder announces the smallest and the last size"),
        Rule(
            "4.2", "Of several changes between two blocks, the smallest and the last one are announced.",
            "RFC 7541, 4.2: the encoder announces the smallest and the last size"),
        Rule(
            "4.2", "After a limit below its size, an encoder begins with a change (RFC 9113, 4.3.1).",
            "RFC 7541, 4.2: after a reduced limit the block has to begin with a change of the size"),
        Rule(
            "4.3", "A table that became smaller evicts until it fits.",
            "RFC 7541, 4.3: a smaller table evicts the oldest entries"),
        Rule(
            "4.4", "An entry that exceeds the table is no error, and empties it.",
            "RFC 7541, 4.4: an entry that is larger than the table empties it"),
        Rule(
            "4.4", "A name may refer to the entry that is evicted for it.",
            "RFC 7541, 4.4: an entry may name the entry that it evicts"),
        Rule(
            "5.1",
            "An integer that exceeds an implementation's limits, in its value or its length, is a decoding error.",
            "RFC 7541, 5.1: integers that are too large, or have too many zeros, are errors"),
        Rule(
            "5.2", "Padding of Huffman code of more than 7 bits is a decoding error.",
            "RFC 7541, 5.2: padding of eight bits and more is an error"),
        Rule(
            "5.2", "Padding that is not the beginning of EOS is a decoding error.",
            "RFC 7541, 5.2: padding that is not the beginning of EOS is an error"),
        Rule(
            "5.2", "EOS within a text is a decoding error.",
            "RFC 7541, 5.2: a text of Huffman code with EOS is an error"
        ),
        Rule(
            "5.2", "Every text can be told by its code.",
            "RFC 7541, 5.2: every text is the same after encoding and decoding"),
        Rule(
            "6", "The application sees the form of each field, so that it can keep it.",
            "RFC 7541, 6: the form of each field is visible"),
        Rule("6.1", "The index 0 is a decoding error.", "RFC 7541, 6.1: the index 0 is an error"),
        Rule(
            "6.2", "A field without indexing, or never indexed, does not come from or into the table.",
            "RFC 7541, 6.2: fields that must stay out of the table are literals, even if they are in it"),
        Rule(
            "6.2.3", "A field that came as never indexed is forwarded as never indexed.",
            "RFC 7541, 6.2.3: the form of each field is passed on"),
        Rule(
            "6.3", "A table's size is at most the decoder's limit. A greater one is a decoding error.",
            "RFC 7541, 6.3: a size above SETTINGS_HEADER_TABLE_SIZE is an error"),
        Rule(
            "7.1.3", "An intermediary does not change a never indexed field to another form.",
            "RFC 7541, 6.2.3: the form of each field is passed on"),
    ]
}
