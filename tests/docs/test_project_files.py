"""Files about the project that machines read: the workflow, the citation, and the examples for clusters."""

import re
import subprocess
import tomllib

import pytest

from tests.docs.pages import ROOT, blocks_of

CLUSTERS = blocks_of("clusters.md", (ROOT / "docs" / "clusters.md").read_text())


def test_the_workflow_runs_the_tests_on_every_python_that_the_package_declares():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    declared = [
        line.rpartition(" ")[2] for line in classifiers if line.startswith("Programming Language :: Python :: 3.")
    ]
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(f'"{version}"' for version in declared)
    assert "run: make test" in workflow


@pytest.mark.parametrize("script", [block.text for block in CLUSTERS if block.language == "bash"])
def test_a_shell_script_for_a_cluster_has_no_error_of_syntax(script):
    assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=True).stderr == ""


@pytest.mark.extra
def test_the_kubernetes_example_is_a_service_and_a_job_that_agree():
    import yaml

    (text,) = [block.text for block in CLUSTERS if block.language == "yaml"]
    service, job = yaml.safe_load_all(text)
    assert (service["kind"], job["kind"], job["spec"]["completionMode"]) == ("Service", "Job", "Indexed")
    pods = job["spec"]["template"]["spec"]
    (container,) = pods["containers"]
    (command,) = container["args"]
    assert pods["subdomain"] == service["metadata"]["name"]
    assert f"--coordinator {job['metadata']['name']}-0.{service['metadata']['name']}:1234" in command
    assert f"--processes {job['spec']['completions']}" in command
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pods["volumes"]}


@pytest.mark.extra
def test_the_citation_names_the_software_and_the_paper():
    import yaml

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    (paper,) = citation["references"]
    assert paper["title"] == "An Investigation of Model-Free Planning"
    assert len(paper["authors"]) == 13
