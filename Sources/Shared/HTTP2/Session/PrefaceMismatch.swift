/// Finds out which protocol a peer speaks if its first bytes are not HTTP/2's preface.
enum PrefaceMismatch {
    /// The length of the longest common method and a space. If the first word is longer, it is not HTTP.
    private static let methodBytes = 16

    /// Returns `plainHTTP1` for the beginning of a request ("GET /…", complete or not) or of a status line.
    static func of(_ prefix: [UInt8]) -> SessionEnd {
        let word = prefix.prefix { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
        guard !word.isEmpty, word.count <= methodBytes else { return .badPreface }
        guard word.count < prefix.count else { return .plainHTTP1 }
        let isStatusLine = prefix.starts(with: "HTTP/".utf8)
        return prefix[word.count] == UInt8(ascii: " ") || isStatusLine ? .plainHTTP1 : .badPreface
    }
}
