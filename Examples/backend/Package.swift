// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "backend",
    platforms: [.macOS(.v26)],
    dependencies: [
        .package(name: "carillon", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "Backend",
            dependencies: [
                .product(name: "APNSProvider", package: "carillon"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)],
        )
    ]
)
