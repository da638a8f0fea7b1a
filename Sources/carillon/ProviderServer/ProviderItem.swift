import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Notifications

/// A kind of thing that the provider server lists, shows and deletes, such as a hook.
protocol ProviderItem: Sendable {
    /// Names the app, if the API needs it for this kind.
    associatedtype Scope: ProviderScope
    /// Selects what is listed.
    associatedtype ListScope: ProviderScope = Scope
    /// The path of the list.
    static var path: String { get }
    /// For "Deleted the hook".
    static var kind: String { get }
    /// The identifier: its key in JSON, its placeholder in the usage, and what the help text says.
    static var identifier: (key: String, value: String, help: String) { get }
    /// The abstracts of the commands; "" for a command that this kind has in another form, or not at all.
    static var abstracts: (list: String, show: String, delete: String) { get }
    /// Describes an item in one line for a person.
    static func line(_ item: JSONValue) -> String
}

protocol ProviderScope: ParsableArguments {
    /// The query of a request, with its question mark; "" for none.
    var query: String { get }
}

/// The scope of things that are found without naming an app.
struct AnyApp: ProviderScope {
    var query: String { "" }
}

struct ProviderListCommand<Item: ProviderItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "list", abstract: Item.abstracts.list)
    }

    @OptionGroup var options: ProviderOptions
    @OptionGroup var scope: Item.ListScope

    func run() async throws {
        try await options.client().list(Item.path + scope.query) { options.output.print($0, Item.line($0)) }
    }
}

struct ProviderShowCommand<Item: ProviderItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "show", abstract: Item.abstracts.show)
    }

    @OptionGroup var options: ProviderOptions
    @OptionGroup var scope: Item.Scope

    @Argument(help: ArgumentHelp("\(Item.identifier.help)", valueName: Item.identifier.value))
    var name: String

    func run() async throws {
        let item = try await options.client().ask(.GET, "\(Item.path)/\(name.percentEncoded)" + scope.query)
        options.output.print(item, Item.line(item))
    }
}

struct ProviderDeleteCommand<Item: ProviderItem>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "delete", abstract: Item.abstracts.delete)
    }

    @OptionGroup var options: ProviderOptions
    @OptionGroup var scope: Item.Scope

    @Argument(help: ArgumentHelp("\(Item.identifier.help)", valueName: Item.identifier.value))
    var name: String

    func run() async throws {
        _ = try await options.client().ask(.DELETE, "\(Item.path)/\(name.percentEncoded)" + scope.query)
        options.output.print([Item.identifier.key: name], "Deleted the \(Item.kind) \(name).")
    }
}
