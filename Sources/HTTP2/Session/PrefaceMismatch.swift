/// Tells what a peer speaks whose first bytes are not HTTP/2's preface.
enum PrefaceMismatch {
    /// The length of the longest method in common use, and a space; longer words at the start are not HTTP.
    private static let methodBytes = 16

    /// `plainHTTP1` for the start of a request ("GET /…", or as much of it as has come) or of a status line.
    static func of(_ prefix: [UInt8]) -> SessionEnd {
        let word = prefix.prefix { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
        guard !word.isEmpty, word.count <= methodBytes else { return .badPreface }
        guard word.count < prefix.count else { return .plainHTTP1 }
        let isStatusLine = prefix.starts(with: "HTTP/".utf8)
        return prefix[word.count] == UInt8(ascii: " ") || isStatusLine ? .plainHTTP1 : .badPreface
    }
}
