import ArgumentParser
import Foundation
import Service

/// What teams, apps, keys and certificates have in common: the administration lists them, and shows one by its name.
protocol AccountItem: Codable, Sendable {
    /// Of the administration.
    static var path: String { get }
    /// As in "list all signing keys".
    static var plural: String { get }
    /// As in "show a signing key".
    static var singular: String { get }
    /// What one is called by, as in "the key's ID", and in the usage, as in `key-id`.
    static var argument: (help: String, value: String) { get }
    /// What a person reads of it.
    var line: String { get }
}

/// One that can be revoked.
protocol RevocableItem: AccountItem {
    /// What the administration answers, and the command prints.
    associatedtype Revoked: Codable, Sendable
    /// What else is to be known of it, after "at once and for good".
    static var consequence: String { get }
    /// What a person reads of it.
    static func line(_ revoked: Revoked) -> String
}

struct ListCommand<Item: AccountItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "list", abstract: "List all \(Item.plural).")
    }

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let items: [Item] = try await common.administration().ask("GET", Item.path)
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
        let item: Item = try await common.administration().ask("GET", "\(Item.path)/\(name)")
        Output(isJSON: common.json).print(item, item.line)
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
        let revoked: Item.Revoked = try await common.administration().ask("DELETE", "\(Item.path)/\(name)")
        Output(isJSON: common.json).print(revoked, Item.line(revoked))
    }
}

/// A moment of the administration's, for people.
func shown(_ milliseconds: UInt64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
}
