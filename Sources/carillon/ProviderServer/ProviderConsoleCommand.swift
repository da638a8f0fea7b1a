import ArgumentParser

struct ProviderConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Print a link that signs a browser in to the provider server's console.",
        discussion: ConsoleOptions.discussion,
    )

    @OptionGroup var options: ProviderOptions
    @OptionGroup var console: ConsoleOptions

    func run() async throws { try await console.run(options.client(), options.output) }
}
