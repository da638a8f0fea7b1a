import HTTP2
import HTTPTypes

/// Reads the fields of requests, and remembers those of the last one: a field that is repeated in the same place is not read
/// again. One for each connection.
struct RequestFields {
    private enum Entry {
        case method(HTTPRequest.Method)
        case scheme(String)
        case authority(String)
        case path(String)
        case field(HTTPField)
        /// A name or a value that no header field may have.
        case unusable
    }

    /// The fields of the last request, in their order.
    private var last: [Entry] = []

    /// Reads a list that the session has checked.
    /// - Returns: nil if the list has no method.
    mutating func request(_ list: FieldList) -> HTTPRequest? {
        var entries: [Entry] = []
        entries.reserveCapacity(list.count)
        var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
        var hasMethod = false
        for index in 0..<list.count {
            let entry = list.isRepeated(index) && index < last.count ? last[index] : Self.entry(list, index)
            entries.append(entry)
            switch entry {
            case .method(let method): (head.method, hasMethod) = (method, true)
            case .scheme(let scheme): head.scheme = scheme
            case .authority(let authority): head.authority = authority
            case .path(let path): head.path = path
            case .field(let field): head.headerFields.append(field)
            case .unusable: break
            }
        }
        last = entries
        return hasMethod ? head : nil
    }

    /// Forgets the last request: the connection is idle, or the list of fields was not complete.
    mutating func forget() { last = [] }

    private static func entry(_ list: FieldList, _ index: Int) -> Entry {
        let name = String(decoding: list.bytes[list.name(index)], as: UTF8.self)
        let bytes = list.bytes[list.value(index)]
        switch name {
        case ":method": return HTTPRequest.Method(String(decoding: bytes, as: UTF8.self)).map(Entry.method) ?? .unusable
        case ":scheme": return .scheme(String(decoding: bytes, as: UTF8.self))
        case ":authority": return .authority(String(decoding: bytes, as: UTF8.self))
        case ":path": return .path(String(decoding: bytes, as: UTF8.self))
        default:
            guard let name = HTTPField.Name(parsed: name), !name.rawName.hasPrefix(":") else { return .unusable }
            // Blanks around a value are no part of it (RFC 9110, 5.5).
            return .field(HTTPField(name: name, value: String(decoding: bytes, as: UTF8.self)))
        }
    }
}
