import Foundation
import Service

/// What `list` and `show` of the account commands have in common: every item of a path, or one, each on its line.
struct Listing<Item: Codable & Sendable>: Sendable {
    /// Of the administration.
    let path: String
    /// What a person reads of an item.
    let line: @Sendable (Item) -> String

    func printAll(_ common: CommonOptions) async throws {
        let items: [Item] = try await common.administration().ask("GET", path)
        for item in items { Output(isJSON: common.json).print(item, line(item)) }
    }

    func print(_ name: String, _ common: CommonOptions) async throws {
        let item: Item = try await common.administration().ask("GET", "\(path)/\(name)")
        Output(isJSON: common.json).print(item, line(item))
    }
}

/// A moment of the administration's, for people.
func shown(_ milliseconds: UInt64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
}
