import ArgumentParser
import Foundation
import Service

/// What teams, apps, keys and certificates have in common: the management API lists them, and shows one by its name.
protocol AccountItem: Codable, Sendable {
    /// In the management API.
    static var path: String { get }
    /// As in "list all signing keys".
    static var plural: String { get }
    /// As in "show a signing key".
    static var singular: String { get }
    /// What one is called by, as in "the key's ID", and in the usage, as in `key-id`.
    static var argument: (help: String, value: String) { get }
    /// Its own name.
    var itemName: String { get }
    /// What a person reads of it.
    var line: String { get }
}

/// One that can be deleted, with everything below it.
protocol DeletableItem: AccountItem {
    /// As in "delete the team".
    static var kind: String { get }
    /// What goes with it.
    static var consequence: String { get }
}

/// One that can be revoked.
protocol RevocableItem: AccountItem {
    /// What the management API answers, and the command prints.
    associatedtype Revoked: Codable, Sendable
    /// What else is to be known of it, after "at once and for good".
    static var consequence: String { get }
    /// What a person reads of it.
    static func line(_ revoked: Revoked) -> String
}

extension AccountItem {
    /// Where the one with the name is.
    static func path(of name: String) throws -> String {
        let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
        guard !name.isEmpty, let encoded = name.addingPercentEncoding(withAllowedCharacters: unreserved) else {
            throw CommandError("\(argument.help) is empty.")
        }
        return "\(path)/\(encoded)"
    }
}

struct ListCommand<Item: AccountItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "list", abstract: "List all \(Item.plural).")
    }

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let items: [Item] = try await common.management().list(Item.path, name: \.itemName)
        for item in items { Output(isJSON: common.json).print(item, item.line) }
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
        let item: Item = try await common.management().ask(.get, Item.path(of: name))
        Output(isJSON: common.json).print(item, item.line)
    }
}

struct DeleteCommand<Item: DeletableItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "delete", abstract: "Delete \(Item.kind) at once and for good, with \(Item.consequence).")
    }

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("\(Item.argument.help).", valueName: Item.argument.value))
    var name: String

    func run() async throws {
        let deleted: Item = try await common.management().ask(.delete, Item.path(of: name))
        Output(isJSON: common.json).print(deleted, "Deleted \(Item.kind) \(deleted.itemName).")
    }
}

struct RevokeCommand<Item: RevocableItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "revoke", abstract: "Revoke \(Item.singular), at once and for good\(Item.consequence).")
    }

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("\(Item.argument.help).", valueName: Item.argument.value))
    var name: String

    func run() async throws {
        let revoked: Item.Revoked = try await common.management().ask(.delete, Item.path(of: name))
        Output(isJSON: common.json).print(revoked, Item.line(revoked))
    }
}

/// A moment of the management API's, for people.
func shown(_ milliseconds: UInt64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
}
