import ArgumentParser
import Foundation
import HTTPAPIClient
import Notifications
import Service

/// A team, an app, a key, a certificate or the like. The management API lists these in the same way, and shows each by
/// its identifier.
protocol AccountItem: Codable, Sendable {
    /// The path of the list in the management API.
    static var path: String { get }
    /// For the help text: "List all signing keys".
    static var plural: String { get }
    /// For the help text: "Show a signing key".
    static var singular: String { get }
    /// The identifier's name in help texts ("The key's ID"), and the argument's placeholder in the usage (`key-id`).
    static var argument: (help: String, value: String) { get }
    /// The item's identifier.
    var itemName: String { get }
    /// The line that a person reads.
    var line: String { get }
}

/// An item that can be deleted, with everything that belongs to it.
protocol DeletableItem: AccountItem {
    /// For the help text: "Delete the team".
    static var kind: String { get }
    /// The other things that are deleted with it, for the help text.
    static var consequence: String { get }
}

/// An item that can be revoked.
protocol RevocableItem: AccountItem {
    /// The management API's answer, which the command prints.
    associatedtype Revoked: Codable, Sendable
    /// More about the consequences, for the help text after "at once".
    static var consequence: String { get }
    /// The line that a person reads after the revocation.
    static func line(_ revoked: Revoked) -> String
}

extension AccountItem {
    /// The path of one item.
    static func path(of name: String) throws -> String {
        guard !name.isEmpty else { throw CommandError("\(argument.help) is empty.") }
        return "\(path)/\(name.percentEncoded)"
    }
}

struct ListCommand<Item: AccountItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "list", abstract: "List all \(Item.plural).")
    }

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let items: [Item] = try await common.management().list(Item.path, name: \.itemName)
        for item in items { common.output.print(item, item.line) }
    }
}

struct ShowCommand<Item: AccountItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "show", abstract: "Show \(Item.singular).")
    }

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("\(Item.argument.help).", valueName: Item.argument.value))
    var name: String

    func run() async throws {
        let item: Item = try await common.management().ask(.GET, Item.path(of: name))
        common.output.print(item, item.line)
    }
}

struct DeleteCommand<Item: DeletableItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "delete",
            abstract: "Delete \(Item.kind) at once, with \(Item.consequence). This cannot be undone.")
    }

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("\(Item.argument.help).", valueName: Item.argument.value))
    var name: String

    func run() async throws {
        let deleted: Item = try await common.management().ask(.DELETE, Item.path(of: name))
        common.output.print(deleted, "Deleted \(Item.kind) \(deleted.itemName).")
    }
}

struct RevokeCommand<Item: RevocableItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "revoke",
            abstract: "Revoke \(Item.singular) at once\(Item.consequence). This cannot be undone.")
    }

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("\(Item.argument.help).", valueName: Item.argument.value))
    var name: String

    func run() async throws {
        let revoked: Item.Revoked = try await common.management().ask(.DELETE, Item.path(of: name))
        common.output.print(revoked, Item.line(revoked))
    }
}

/// A time of the management API as text for people.
func shown(_ milliseconds: UInt64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
}
