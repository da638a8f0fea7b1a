import HTTPAPI
import HTTPTypes
import Hummingbird

/// The formats of a whole list, besides pages of JSON.
package enum ListForm: String, Sendable, CaseIterable {
    /// A line feed between quotation marks does not end a row.
    case csv = "text/csv"
    /// One JSON object on each line.
    case lines = "application/x-ndjson"

    /// What a file with this format is called, and the format in a query.
    package var fileExtension: String { self == .csv ? "csv" : "ndjson" }

    /// The format of a file: lines, unless its name says something else.
    package init(ofFile name: String) {
        self = Self.allCases.first { name.hasSuffix("." + $0.fileExtension) } ?? .lines
    }

    /// The format that a header field names; nil if it names none of them.
    init?(_ field: String?) {
        guard let form = field.flatMap({ Self(rawValue: MediaType.essence(of: $0)) }) else { return nil }
        self = form
    }

    /// The format that the answer to a request has. A link in a browser cannot set `Accept`, so the query may name the
    /// format too.
    init?(of call: ProviderCall) {
        let named = call.query("format").flatMap { name in Self.allCases.first { $0.fileExtension == name } }
        guard let form = named ?? Self(call.request.headers[.accept]) else { return nil }
        self = form
    }
}
