import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Print a link that signs a browser in to the console.",
        discussion: "The link works once, and for five minutes. A browser stays signed in for twelve hours.",
    )

    @OptionGroup var common: CommonOptions

    @Flag(help: "Sign all browsers out instead.")
    var end = false

    func run() async throws {
        let client = try common.management()
        if end {
            let ended: ManagementMessages.EndedSessions = try await client.ask(.DELETE, "/v1/console/sessions")
            common.output.print(ended, "Sessions ended: \(ended.ended).")
        } else {
            let link: ManagementMessages.ConsoleLink = try await client.ask(.POST, "/v1/console/links")
            common.output.print(link, link.url)
        }
    }
}
