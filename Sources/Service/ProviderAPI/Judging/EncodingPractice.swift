import HTTP2
import Notifications

/// Checks how a provider encodes its headers against the Guide's rules (2.3.4.1). Following them keeps values that do
/// not repeat out of the header table of both sides. There is one value for each connection. `strict` rejects
/// requests that violate a rule.
struct EncodingPractice {
    /// A violation of the Guide's rules.
    struct Fault: Sendable, Hashable {
        /// The Guide's section with the rule.
        let section: String
        /// A sentence that says what is wrong, and where.
        let text: String
    }

    /// The headers whose names the client has already put into the table.
    private var indexed: Set<RequestHeader> = []

    /// Checks one header.
    mutating func fault(in name: Span<UInt8>, as form: FieldForm) -> Fault? {
        let header = RequestHeader(name: name)
        let wanted: FieldForm
        switch header {
        case .path, .authorization: wanted = .withoutIndexing
        case .id, .expiration, .collapseID:
            // The first time, the header should be sent with indexing, so that its name enters the table. Afterwards,
            // it should be sent without indexing.
            guard let header else { return nil }
            wanted = indexed.contains(header) ? .withoutIndexing : .incremental
            if form == .incremental { indexed.insert(header) }
        default:
            // A header that is in a table already may be sent as an index.
            if form == .indexed { return nil }
            wanted = .incremental
        }
        guard form != wanted else { return nil }
        return Fault(
            section: "2.3.4.1",
            text: "The header \(name.text) came \(Self.described(form)); the Guide (2.3.4.1) requires it "
                + "\(Self.described(wanted)).")
    }

    /// The fault of the first PRIORITY frame. The service ignores the frame itself (2.3.3).
    private(set) var priorityFault: Fault?

    mutating func priorityReceived(_ stream: StreamID) {
        guard priorityFault == nil else { return }
        priorityFault = Fault(
            section: "2.3.3",
            text: "The connection had a PRIORITY frame for stream \(stream.rawValue); the Guide (2.3.3) forbids them.")
    }

    private static func described(_ form: FieldForm) -> String {
        switch form {
        case .indexed: "from the table (RFC 7541, 6.1)"
        case .incremental: "as a literal with incremental indexing (RFC 7541, 6.2.1)"
        case .withoutIndexing: "as a literal without indexing (RFC 7541, 6.2.2)"
        case .neverIndexed: "as a literal never indexed (RFC 7541, 6.2.3)"
        }
    }
}
