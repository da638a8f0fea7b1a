import Console

extension ConsoleSite {
    /// The push service's console: the files in `Files`, embedded in the binary, and those that all consoles share.
    static let management = ConsoleSite(index: ConsoleFile(PackageResources.index_html, .html), files: managementFiles)

    /// All files of its own except the page itself, by name. A test compares the names with the folder.
    static var managementFiles: [String: ConsoleFile] {
        [
            "accounts.js": ConsoleFile(PackageResources.accounts_js, .module),
            "activities.js": ConsoleFile(PackageResources.activities_js, .module),
            "curl.js": ConsoleFile(PackageResources.curl_js, .module),
            "detail.js": ConsoleFile(PackageResources.detail_js, .module),
            "devices.js": ConsoleFile(PackageResources.devices_js, .module),
            "feed.js": ConsoleFile(PackageResources.feed_js, .module),
            "filter.js": ConsoleFile(PackageResources.filter_js, .module),
            "graph.js": ConsoleFile(PackageResources.graph_js, .module),
            "grant.js": ConsoleFile(PackageResources.grant_js, .module),
            "grants.js": ConsoleFile(PackageResources.grants_js, .module),
            "main.js": ConsoleFile(PackageResources.main_js, .module),
            "model.js": ConsoleFile(PackageResources.model_js, .module),
            "names.js": ConsoleFile(PackageResources.names_js, .module),
            "notifications.js": ConsoleFile(PackageResources.notifications_js, .module),
            "payload.js": ConsoleFile(PackageResources.payload_js, .module),
            "phone.js": ConsoleFile(PackageResources.phone_js, .module),
            "rawjson.js": ConsoleFile(PackageResources.rawjson_js, .module),
            "rehearsals.js": ConsoleFile(PackageResources.rehearsals_js, .module),
            "send.js": ConsoleFile(PackageResources.send_js, .module),
            "service.js": ConsoleFile(PackageResources.service_js, .module),
            "templates.js": ConsoleFile(PackageResources.templates_js, .module),
            "upstreams.js": ConsoleFile(PackageResources.upstreams_js, .module),
            "webpush.js": ConsoleFile(PackageResources.webpush_js, .module),
            "words.js": ConsoleFile(PackageResources.words_js, .module),
        ]
    }
}
