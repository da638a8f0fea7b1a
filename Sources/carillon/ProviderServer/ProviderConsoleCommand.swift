import ArgumentParser
import CommandSupport
import HTTPAPIClient

struct ProviderConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Print a link that signs a browser in to the provider server's console.",
        discussion: "The link works once, and for five minutes. A browser stays signed in for twelve hours.",
    )

    @OptionGroup var options: ProviderOptions

    @Flag(help: "Sign all browsers out instead.")
    var end = false

    func run() async throws {
        let client = try options.client()
        if end {
            let ended = try await client.ask(.DELETE, "/v1/console/sessions")
            options.output.print(ended, "Sessions ended: \(ended.number("ended")).")
        } else {
            let link = try await client.ask(.POST, "/v1/console/links")
            options.output.print(link, link["url"] ?? "")
        }
    }
}
