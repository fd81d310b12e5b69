// Asks KAI's own code which PodGroups it admits: first the schema of the CRD, as the API server does, then
// the webhook. The test in kai_admission.rs builds this program in a checkout of KAI. Standard input is a
// JSON list of {"spec", "is_new"}. Standard output is a list of refusals, "" for each admitted PodGroup.
package main

import (
	"context"
	"encoding/json"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"github.com/kai-scheduler/KAI-scheduler/deployments/kai-scheduler/crds"
	"github.com/kai-scheduler/KAI-scheduler/pkg/apis/scheduling/v2alpha2"
)

type question struct {
	Spec  json.RawMessage `json:"spec"`
	IsNew bool            `json:"is_new"`
}

func main() {
	var questions []question
	check(json.NewDecoder(os.Stdin).Decode(&questions))
	validator := schema()
	refusals := []string{}
	for _, question := range questions {
		refusals = append(refusals, refusal(validator, question))
	}
	check(json.NewEncoder(os.Stdout).Encode(refusals))
}

func refusal(validator validation.SchemaValidator, question question) string {
	var object map[string]any
	check(json.Unmarshal([]byte(`{"spec":`+string(question.Spec)+`}`), &object))
	if errors := validation.ValidateCustomResource(nil, object, validator); len(errors) > 0 {
		return errors.ToAggregate().Error()
	}
	var podGroup v2alpha2.PodGroup
	check(json.Unmarshal(question.Spec, &podGroup.Spec))
	_, err := podGroup.ValidateUpdate(context.Background(), &podGroup, &podGroup)
	if question.IsNew {
		_, err = podGroup.ValidateCreate(context.Background(), &podGroup)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func schema() validation.SchemaValidator {
	all, err := crds.LoadEmbeddedCRDs()
	check(err)
	for _, crd := range all {
		if crd.Spec.Names.Kind != "PodGroup" {
			continue
		}
		for _, version := range crd.Spec.Versions {
			if version.Name != "v2alpha2" {
				continue
			}
			var internal apiextensions.CustomResourceValidation
			check(apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
				version.Schema, &internal, nil))
			validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
			check(err)
			return validator
		}
	}
	panic("no CRD of PodGroup v2alpha2")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
