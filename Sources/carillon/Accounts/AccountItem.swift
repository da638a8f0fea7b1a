import ArgumentParser
import CommandSupport
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

/// An item that can be deleted, revoked or the like.
protocol RemovableItem: AccountItem {
    /// The management API's answer, which the command prints.
    associatedtype Removed: Codable & Sendable = Self
    /// The name and the help text of the command.
    static var removal: (command: String, abstract: String, discussion: String) { get }
    /// The line that a person reads afterwards.
    static func line(_ removed: Removed) -> String
}

extension AccountItem {
    /// The path of one item.
    static func path(of name: String) throws -> String { try itemPath(path, name, argument.help) }
}

/// The path of one item of a list of the management API.
/// - Parameter meaning: what the name is, for the error: "The key's ID".
func itemPath(_ list: String, _ name: String, _ meaning: String) throws -> String {
    guard !name.isEmpty else { throw CommandError("\(meaning) is empty.") }
    return "\(list)/\(name.percentEncoded)"
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

struct RemoveCommand<Item: RemovableItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        let (command, abstract, discussion) = Item.removal
        return CommandConfiguration(commandName: command, abstract: abstract, discussion: discussion)
    }

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("\(Item.argument.help).", valueName: Item.argument.value))
    var name: String

    func run() async throws {
        let removed: Item.Removed = try await common.management().ask(.DELETE, Item.path(of: name))
        common.output.print(removed, Item.line(removed))
    }
}

/// A time of the management API as text for people.
func dateText(milliseconds: UInt64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
}
