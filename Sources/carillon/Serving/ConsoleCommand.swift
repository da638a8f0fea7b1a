import ArgumentParser
import CommandSupport
import HTTPAPIClient

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Print a link that signs a browser in to the console.",
        discussion: ConsoleOptions.discussion,
    )

    @OptionGroup var common: CommonOptions
    @OptionGroup var console: ConsoleOptions

    func run() async throws { try await console.run(common.management(), common.output) }
}

/// Makes a link to a console, or ends its sessions: the same for both servers.
struct ConsoleOptions: ParsableArguments {
    static let discussion =
        "The link works once, and for five minutes. A browser stays signed in for twelve hours."

    @Flag(help: "Sign all browsers out instead.")
    var end = false

    func run(_ client: APIClient, _ output: Output) async throws {
        if end {
            let ended = try await client.ask(.DELETE, "/v1/console/sessions")
            output.print(ended, "Sessions ended: \(ended.number("ended")).")
        } else {
            let link = try await client.ask(.POST, "/v1/console/links")
            output.print(link, link["url"] ?? "")
        }
    }
}
