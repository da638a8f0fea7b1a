import Foundation
import HTTPTypes
import Hummingbird

/// A part of a list, by the parameters `limit` and `after`.
enum ListPage {
    /// - Parameters:
    ///   - names: of all items, in any order.
    ///   - message: makes what is shown of the item with that name; nil if it went meanwhile.
    static func make<Message: Encodable>(
        of names: some Sequence<String>,
        _ call: ManagementCall,
        _ message: (String) -> Message?,
    ) throws -> Response {
        let limit = call.query("limit").flatMap(Int.init) ?? ManagementLimits.listItems
        var names = names.sorted()
        if let after = call.query("after") { names.removeAll { $0 <= after } }
        var response = try JSONAnswer.make(names.prefix(limit).compactMap(message))
        if names.count > limit, limit > 0 {
            // RFC 8288. Names are made of letters, digits, hyphens and periods.
            let next = "\(call.request.uri.path)?limit=\(limit)&after=\(names[limit - 1])"
            response.headers[.link] = "<\(next)>; rel=\"next\""
        }
        return response
    }
}

extension HTTPField.Name {
    /// A static name, which is always allowed.
    static let link = HTTPField.Name("Link") ?? .contentLocation
}
